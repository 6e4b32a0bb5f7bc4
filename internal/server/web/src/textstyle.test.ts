import { describe, expect, test } from 'vitest'
import { batchWords, uploadWords } from './textstyle'

describe('what the service says about an upload', () => {
  test.each([
    ['it is taken to have a decimal comma (decimal=point says otherwise)', 'it is taken to have a decimal comma (“Decimal mark: point” says otherwise)'],
    ['each line has as many fields; give separator=blank', 'each line has as many fields; give “Separator: blank”'],
    ['column "x<" marks them; censored=drop makes them missing', 'column "x<" marks them; “Limits such as <0.5: leave them empty” makes them missing'],
    ['confirm them with missing_marks=gut,schlecht', 'confirm them with “Words that mean ‘missing’: gut,schlecht”'],
    ['name words that mean that with missing_marks', 'name words that mean that with “Words that mean ‘missing’”'],
    ['column "a b" is not used; id="a b" names the rows by it, keep="a b" makes it an input',
      'column "a b" is not used; “Column that names the rows: a b” names the rows by it, ticking “Use” makes it an input'],
    ...['keep=a makes it', 'keep="a b" makes it', 'keep makes a column'].map(way => [
      `column "a" is not used: it has values in 8 of 8 labelled rows and in 0 of 90 others, so it is measured together with the label; ${way} an input`,
      `column "a" is not used: it has values in 8 of 8 labelled rows and in 0 of 90 others, so it is measured together with the label; ticking “Use” makes ${way.includes('a column') ? 'a column' : 'it'} an input`]),
    ['it looks like row numbers; keep=Nr makes it an input', 'it looks like row numbers; ticking “Use” makes it an input'],
    ['if none can be, declare it (range=0..100), and', 'if none can be, declare it (“Range of the labels: 0..100”), and'],
    ['imputed: 3 in column "a"; missing="drop" leaves such rows out', 'imputed: 3 in column "a"'],
    ['a column with x=1 stays', 'a column with x=1 stays'],
  ])('%s', (text, want) => expect(uploadWords(text)).toBe(want))
})

describe('what the service says about a batch', () => {
  test.each([
    ['column "a" is not used: it is a copy of it; keep=["a"] makes it an input', 'column "a" is not used: it is a copy of it'],
    ['2 columns are not used: "a", "b"; keep makes a column an input', '2 columns are not used: "a", "b"'],
    ['imputed: 3 in column "a"; missing="drop" leaves such rows out', 'imputed: 3 in column "a"'],
    ['levels that no labelled row has: "C"', 'levels that no labelled row has: "C"'],
  ])('%s', (text, want) => expect(batchWords(text)).toBe(want))
})
