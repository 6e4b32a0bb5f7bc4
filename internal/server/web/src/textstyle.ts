import type { Understood } from './types'

// How a text file is written: what the service understood, and what a person says instead.

/** What a person says; what is left out is guessed. The names are those of the service. */
export type TextStyle = Partial<Record<'separator' | 'decimal' | 'thousands' | 'encoding' | 'header' | 'censored' | 'missing_marks' | 'lod', string>>

export interface StyleChoice { name: keyof TextStyle; label: string; options: [value: string, words: string][] }

const marks: [string, string][] = [['comma', 'comma ,'], ['point', 'point .'], ['blank', 'blank'], ['apostrophe', 'apostrophe \'']]

export const styleChoices: StyleChoice[] = [
  { name: 'separator', label: 'Separator', options: [['comma', 'comma ,'], ['semicolon', 'semicolon ;'], ['tab', 'tab'], ['bar', 'bar |'], ['blank', 'blank']] },
  { name: 'decimal', label: 'Decimal mark', options: [['point', 'point: 12.5'], ['comma', 'comma: 12,5']] },
  { name: 'thousands', label: 'Thousands', options: marks },
  { name: 'header', label: 'First line', options: [['present', 'column names'], ['absent', 'a row']] },
  { name: 'encoding', label: 'Encoding', options: [['utf-8', 'UTF-8'], ['utf-16le', 'UTF-16 LE'], ['utf-16be', 'UTF-16 BE'], ['latin1', 'Latin 1'], ['windows-1252', 'Windows 1252']] },
  { name: 'censored', label: 'Limits such as <0.5', options: [['limit', 'take the limit'], ['drop', 'leave them empty']] },
]

/** The choices as they were understood; empty where nothing in the file tells. */
export function understoodStyle(u: Understood): TextStyle {
  return {
    separator: u.separator ?? '', decimal: u.decimal ?? '', thousands: u.thousands ?? '', encoding: u.encoding ?? '', header: u.header ? 'present' : 'absent', censored: 'limit',
  }
}

/** What the field for the words that mean a missing value is called. */
export const missingMarksLabel = 'Words that mean “missing”'

/** What the field for the limit below which labels such as <LOD lie is called. */
export const lodLabel = 'Limit of detection of the labels'

const labels: Record<string, string> = { ...Object.fromEntries(styleChoices.map(c => [c.name, c.label])), missing_marks: missingMarksLabel.replace('“', '‘').replace('”', '’'), lod: lodLabel, id: 'Column that names the rows', range: 'Range of the labels' }

/** What the service says about an uploaded table, with the fields of the page for the parameters of its requests. */
export function uploadWords(text: string): string {
  return text
    .replace(/\b(\w+)=("[^"]*"|[^\s;)]+)/g, (all, name: string, value: string) => {
      if (name === 'ignore') return `untick ${value}`
      const label = labels[name], choice = styleChoices.find(c => c.name === name)?.options.find(([v]) => v === value)
      return label ? `“${label}: ${choice?.[1].replace(/:.*/, '') ?? value.replaceAll('"', '')}”` : all
    })
    .replace(/\bwith missing_marks\b/g, `with “${labels['missing_marks']!}”`)
    .replace(new RegExp(`\\b${keeping}`), 'ticking “Use” makes')
    .replace(elsewhere, '')
}

const keeping = 'keep(?:=(?:"[^"]*"|\\[[^\\]]*\\]|\\S+))? makes'
const elsewhere = /; missing="drop" leaves such rows out/ // which the page does not set

/** What the service says about a batch, without advice that the page has no fields for. */
export function batchWords(text: string): string {
  return text.replace(new RegExp(`; ${keeping} (?:it|a column) an input`), '').replace(elsewhere, '')
}

/** Whether the file is text, so that somebody can say how it is written. */
export const isText = (u: Understood): boolean => u.format === 'csv' || u.format === 'tsv'
