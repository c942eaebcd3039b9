/** Rules of the contract that a typed value breaks, as sentences of the pages; for pages and their scripts. */

/** What the contract says of one. */
export interface Broken {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  readonly ctx?: Readonly<Record<string, unknown>> | undefined
}

const empty = 'This must not be empty.'

/** By the type of the problem; one that is not named here tells by itself what is wrong. */
const sentences: Readonly<Record<string, (limits: Readonly<Record<string, unknown>>) => string>> = {
  missing: () => empty,
  string_too_short: ({ min_length: least }) =>
    least === 1 ? empty : `This is too short: it takes at least ${shown(least)} characters.`,
  string_too_long: ({ max_length: most }) => `This is too long: it takes at most ${shown(most)} characters.`,
  string_pattern_mismatch: () => 'This is blank, or holds a character that cannot be shown.',
  uuid_parsing: () => 'This is no id.',
  datetime_parsing: () => 'This is no date with a time.',
  int_parsing: () => 'This is no whole number.',
  int_type: () => 'This is no whole number.',
  greater_than_equal: ({ ge }) => `This must be ${shown(ge)} or more.`,
  less_than_equal: ({ le }) => `This must be ${shown(le)} or less.`,
  enum: ({ expected }) => `This must be one of ${expected}.`,
}

/** The field at fault, as the operation calls it, and what is wrong with it; undefined: the whole form. */
export function brokenField(problems: readonly Broken[]): { readonly field?: string; readonly says: string } {
  const [first] = problems
  if (first === undefined) return { says: 'The form is not complete.' }
  const field = first.loc
    .slice(1)
    .filter((part) => typeof part === 'string')
    .at(-1)
  return { ...(field === undefined ? {} : { field }), says: sentenceOf(first) }
}

function sentenceOf({ type, msg, ctx = {} }: Broken): string {
  return sentences[type]?.(ctx) ?? asSentence(msg.replace(/^Value error, /, ''))
}

/** Begins with a capital, ends with a full stop. */
export function asSentence(words: string): string {
  const whole = words.charAt(0).toUpperCase() + words.slice(1)
  return /[.!?]$/.test(whole) ? whole : `${whole}.`
}

function shown(number: unknown): string {
  return Number(number).toLocaleString('en')
}
