package nextbatch

// Version is the version of this module. Everything that states a version takes it from here: the
// programs, the description of the service, the Python package; tests compare the changelog and CITATION.cff
// with it. Between releases it is the next one with "-dev".
const Version = "0.1.0-dev"
