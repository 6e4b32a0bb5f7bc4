package sets

import (
	"github.com/nextbatch/nextbatch/dataset/source"
)

// sets are the data sets of the benchmark, in the order of the paper's tables
// of data set characteristics and sources, which give titles, citations and
// counts.
var sets = []Set{
	{
		Name: "sgemm", Title: "SGEMM GPU kernel performance",
		Citation: "Ballester-Ripoll, Paredes, Pajarola: Sobol tensor trains for global sensitivity analysis, 2019",
		Licence:  uciLicence,
		Source:   Source{URL: uci + "static/public/440/sgemm+gpu+kernel+performance.zip", Member: "sgemm_product.csv"},
		Files:    []string{"sgemm_product.csv"}, Header: source.HeaderPresent,
		Label: Columns{Index: []int{14, 15, 16, 17}}, Log: true,
		Pool: 192000, Test: 48320, Features: 14,
	},
	{
		Name: "wec_sydney", Title: "Wave Energy Converters",
		Citation: "Neshat, Alexander, Wagner, Xia: A detailed comparison of meta-heuristic methods for optimising wave " +
			"energy converter placements, 2018",
		Licence: uciLicence,
		Source: Source{URL: uci + "ml/machine-learning-databases/00494/WECs_DataSet.zip",
			Member: "WECs_DataSet/Sydney_Data.csv"},
		Files: []string{"Sydney_Data.csv"}, Header: source.HeaderAbsent,
		Label: Columns{Index: []int{48}},
		Pool:  56320, Test: 14400, Features: 48,
	},
	{
		Name: "ct_slices", Title: "Relative location of CT slices on axial axis",
		Citation: "Graf, Kriegel, Schubert, Pölsterl, Cavallaro: 2D image registration in CT images using radial image " +
			"descriptors, 2011",
		Licence: uciLicence,
		Source: Source{URL: uci + "static/public/206/relative+location+of+ct+slices+on+axial+axis.zip",
			Member: "slice_localization_data.csv"},
		Files: []string{"slice_localization_data.csv"}, Header: source.HeaderPresent,
		Label: Columns{Index: []int{385}}, Drop: Columns{Index: []int{0}},
		Pool: 41520, Test: 10700, Features: 379,
	},
	{
		Name: "kegg_undir", Title: "KEGG Metabolic Reaction Network (Undirected)",
		Citation: "Shannon et al.: Cytoscape: a software environment for integrated models of biomolecular interaction " +
			"networks, 2003",
		Licence: uciLicence,
		Source: Source{URL: uci + "static/public/221/kegg+metabolic+reaction+network+undirected.zip",
			Member: "Reaction Network (Undirected).data"},
		Files: []string{"Reaction Network (Undirected).data"}, Header: source.HeaderAbsent,
		Label: Columns{Index: []int{26}}, Drop: Columns{Index: []int{0}},
		Numeric: []string{"column4"},
		Pool:    50407, Test: 12921, Features: 27,
	},
	{
		Name: "online_video", Title: "Online Video Characteristics and Transcoding Time",
		Citation: "Deneke, Haile, Lafond, Lilius: Video transcoding time prediction for proactive load balancing, 2014",
		Licence:  uciLicence,
		Source: Source{URL: uci + "ml/machine-learning-databases/00335/online_video_dataset.zip",
			Member: "transcoding_mesurment.tsv"},
		Files: []string{"transcoding_mesurment.tsv"}, Header: source.HeaderPresent,
		Label: Columns{Index: []int{21}}, Drop: Columns{Index: []int{0, 20}},
		Pool: 53748, Test: 13756, Features: 26,
	},
	{
		Name: "query", Title: "Query Analytics Workloads",
		Citation: "Anagnostopoulos, Savva, Triantafillou: Scalable aggregation predictive analytics, 2018; Savva, " +
			"Anagnostopoulos, Triantafillou: Explaining aggregates for exploratory analytics, 2018",
		Licence: uciLicence,
		Source: Source{URL: uci + "ml/machine-learning-databases/00493/datasets.zip",
			Member: "Datasets/Range-Queries-Aggregates.csv"},
		Files: []string{"Range-Queries-Aggregates.csv"}, Header: source.HeaderPresent,
		Label: Columns{Index: []int{5}}, Drop: Columns{Index: []int{0, 6, 7}},
		Pool: 158720, Test: 40000, Features: 4,
	},
	{
		Name: "poker", Title: "Poker Hand",
		Licence: uciLicence,
		Source:  Source{URL: uci + "ml/machine-learning-databases/poker/poker-hand-testing.data"},
		Files:   []string{"poker-hand-testing.data", "poker_GENERATED_not_uci.data"}, Header: source.HeaderAbsent,
		StandIn: "poker_GENERATED_not_uci.data",
		Label:   Columns{Index: []int{10}}, Categorical: Columns{Index: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		Pool: 198720, Test: 300000, Features: 95,
	},
	{
		Name: "road", Title: "3D Road Network (North Jutland, Denmark)",
		Citation: "Kaul, Yang, Jensen: Building accurate 3D spatial networks to enable next generation intelligent " +
			"transportation systems, 2013",
		Licence: uciLicence,
		Source:  Source{URL: uci + "ml/machine-learning-databases/00246/3D_spatial_network.txt"},
		Files:   []string{"3D_spatial_network.txt"}, Header: source.HeaderAbsent,
		Label: Columns{Index: []int{3}}, Drop: Columns{Index: []int{0}},
		Pool: 198720, Test: 234874, Features: 2,
	},
	{
		Name: "mlr_knn_rng", Title: "mlr_knn_rng",
		Source: Source{OpenML: 42454},
		Files:  []string{"mlr_knn_rng.arff"},
		Label:  Columns{Names: []string{"perf.logloss"}}, Drop: Columns{Names: []string{"perf.mmce"}},
		Pool: 88123, Test: 22350, Features: 132,
	},
	{
		Name: "fried", Title: "fried",
		Citation: "Friedman: Multivariate adaptive regression splines, 1991",
		Source:   Source{OpenML: 564},
		Files:    []string{"fried.arff"},
		Label:    Columns{Index: []int{10}}, // called Y or target
		Pool:     31335, Test: 8153, Features: 10,
	},
	{
		Name: "diamonds", Title: "diamonds",
		Source: Source{OpenML: 42225},
		Files:  []string{"diamonds.arff", "diamonds.csv"}, Header: source.HeaderPresent,
		Label: Columns{Names: []string{"price"}},
		Pool:  41872, Test: 10788, Features: 29,
	},
	{
		Name: "methane", Title: "Methane",
		Citation: "Ślęzak et al.: A framework for learning and embedding multi-sensor forecasting models into a decision " +
			"support system: A case study of methane concentration in coal mines, 2018",
		Source: Source{OpenML: 42701},
		Files:  []string{"methane.arff"},
		Label:  Columns{Names: []string{"MM264"}}, Drop: Columns{Names: []string{"MM263", "MM256"}},
		Pool: 198720, Test: 300000, Features: 33,
	},
	{
		Name: "stock", Title: "BNG(stock)",
		Source: Source{OpenML: 1200},
		Files:  []string{"stock.arff", "BNG_stock.arff"},
		Label:  Columns{Names: []string{"company10"}},
		Pool:   45960, Test: 11809, Features: 9,
	},
	{
		Name: "protein", Title: "physicochemical-protein",
		Source: Source{OpenML: 42903},
		Files:  []string{"protein.arff", "physicochemical-protein.arff", "CASP.csv"}, Header: source.HeaderPresent,
		Label: Columns{Names: []string{"RMSD"}},
		Pool:  35304, Test: 9146, Features: 9,
	},
	{
		Name: "sarcos", Title: "SARCOS data",
		Citation: "Vijayakumar, Schaal: Locally weighted projection regression: An O(n) algorithm for incremental real " +
			"time learning in high dimensional space, 2000",
		Source: Source{URL: "http://www.gaussianprocess.org/gpml/data/sarcos_inv.mat"},
		Files:  []string{"sarcos_inv.mat"}, Array: "sarcos_inv",
		Label: Columns{Index: []int{21}}, Drop: Columns{Index: []int{22, 23, 24, 25, 26, 27}},
		Pool: 34308, Test: 8896, Features: 21,
	},
}

const (
	uci        = "https://archive.ics.uci.edu/"
	uciLicence = "CC BY 4.0"
)
