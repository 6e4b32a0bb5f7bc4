// The rule for when a campaign has enough labels, such as rmse<0.5 or gain<2%. It is kept
// in this browser for each campaign.

export type Measure = 'rmse' | 'mae' | 'q95' | 'gain'
export interface StopRule { measure: Measure; below: number }

export const measures: { measure: Measure; words: string }[] = [
  { measure: 'gain', words: 'a tenth more labels help by less than' },
  { measure: 'rmse', words: 'the RMSE is below' },
  { measure: 'mae', words: 'the mean absolute error is below' },
  { measure: 'q95', words: '95 % of the errors are below' },
]

export const defaultRule: StopRule = { measure: 'gain', below: 2 }

/** The text that the service reads. A gain is a percentage. */
export function ruleText(rule: StopRule): string {
  return rule.measure === 'gain' ? `gain<${rule.below}%` : `${rule.measure}<${rule.below}`
}

export function parseRule(text: string | null): StopRule {
  const found = /^(rmse|mae|q95|gain)<([\d.e+-]+)%?$/.exec(text ?? '')
  const below = Number(found?.[2])
  return found && below > 0 ? { measure: found[1] as Measure, below } : defaultRule
}

const key = (campaign: string) => `nextbatch.stop.${campaign}`
export const keptRule = (campaign: string): StopRule => parseRule(localStorage.getItem(key(campaign)))
export const keepRule = (campaign: string, rule: StopRule): void => localStorage.setItem(key(campaign), ruleText(rule))
