import { grouped } from './format'
import type { Mark } from './format'
import type { History } from './types'

// Numbers as people type them: 12.5, 12,5, 12,500, 1'250.5 or 3e-4.

/** What was read, and words on how where somebody might have meant something else. */
export interface Reading { value: number; how: string }

const groups = /^\d{1,3}([.,'])\d{3}(\1\d{3})*$/ // thousands, whatever separates them

/** Reads a number; null where the text is not a number. What may be thousands or decimals follows the sizes of the labels so far, and the decimal mark of the campaign. */
export function readNumber(text: string, mark: Mark = 'point', labels?: History): Reading | null {
  const typed = text.trim().replace(/^[−–]/, '-').replace(/[\s_]/gu, '').replaceAll('’', "'")
  const [, sign, body, power] = /^([+-]?)([\d.,']+)(e[+-]?\d+)?$/i.exec(typed) ?? []
  if (body === undefined) return null
  const ambiguous = /^[1-9]\d{0,2}[.,]\d{3}$/.test(body)
  const usual = mark === 'comma' ? ',' : '.'
  const decimal = ambiguous ? decimalLike(body, power ?? '', labels) ?? usual : decimalOf(body)
  const [whole, part, ...more] = decimal ? body.split(decimal) : [body]
  if (more.length > 0 || !(/^\d*$/.test(whole!) || groups.test(whole!)) || !/^\d*$/.test(part ?? '') || !/\d/.test(body)) return null
  const value = Number(`${sign ?? ''}${whole!.replace(/\D/g, '')}.${part ?? ''}${power ?? ''}`.replace(/\.(?=e|$)/i, ''))
  if (!Number.isFinite(value)) return null
  const surprising = ambiguous && (mark === 'comma' || body.includes(','))
  const because = !surprising ? '' : decimal === usual ? `, because this campaign writes decimals with a ${mark}` : ', as the labels so far are'
  return { value, how: surprising || /[,']/.test(body) ? `read as ${grouped(value)}${because}` : '' }
}

/** The decimal mark with which a number is like the labels so far; null where both are, or neither. */
function decimalLike(body: string, power: string, labels?: History): string | null {
  const like = (digits: string) => {
    const size = Number(digits + power)
    return labels?.low !== undefined && labels.high !== undefined && size >= labels.low / 3 && size <= labels.high * 3
  }
  const small = like(body.replace(',', '.')), large = like(body.replace(/[.,]/, ''))
  return small === large ? null : body.includes(',') === small ? ',' : '.'
}

/** The decimal mark of digits that tell it: the last of two different marks, or one that cannot separate thousands. */
function decimalOf(body: string): string | null {
  const last = /[.,](?=[^.,]*$)/.exec(body)?.[0]
  if (last === undefined) return null
  const times = body.split(last).length - 1
  return times > 1 || (groups.test(body) && !body.startsWith('0')) ? null : last
}

/** The decimal mark of the table that a campaign began with. */
export const markOf = (campaign: { decimal?: string }): Mark => campaign.decimal === 'comma' ? 'comma' : 'point'

/** A number as it is typed in this campaign. */
export const typed = (v: number, mark: Mark): string => mark === 'comma' ? String(v).replace('.', ',') : String(v)

export const parseNumber = (text: string): number | null => readNumber(text)?.value ?? null
