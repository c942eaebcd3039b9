/** Validation errors of the API as sentences, for pages and their scripts. */

/** One validation error, as the API returns it. */
export interface Broken {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
  readonly ctx?: Readonly<Record<string, unknown>> | undefined
}

const empty = 'This must not be empty.'

/** Sentences by error type. For other types, the API's message is shown. */
const sentences: Readonly<Record<string, (limits: Readonly<Record<string, unknown>>) => string>> = {
  missing: () => empty,
  string_too_short: ({ min_length: least }) =>
    least === 1 ? empty : `This is too short. Enter at least ${shown(least)} characters.`,
  string_too_long: ({ max_length: most }) => `This is too long. Enter at most ${shown(most)} characters.`,
  string_pattern_mismatch: () => 'This is blank, or contains a character that cannot be displayed.',
  uuid_parsing: () => 'This is not a valid id.',
  datetime_parsing: () => 'Enter a date and time.',
  int_parsing: () => 'Enter a whole number.',
  int_type: () => 'Enter a whole number.',
  greater_than_equal: ({ ge }) => `This must be ${shown(ge)} or more.`,
  less_than_equal: ({ le }) => `This must be ${shown(le)} or less.`,
  enum: ({ expected }) => `This must be one of ${expected}.`,
}

/** Returns the first invalid field, by its name in the API, and its problem. No field: the form is invalid. */
export function brokenField(problems: readonly Broken[]): { readonly field?: string; readonly says: string } {
  const [first] = problems
  if (first === undefined) return { says: 'The form is incomplete.' }
  const field = first.loc
    .slice(1)
    .filter((part) => typeof part === 'string')
    .at(-1)
  return { ...(field === undefined ? {} : { field }), says: sentenceOf(first) }
}

function sentenceOf({ type, msg, ctx = {} }: Broken): string {
  return sentences[type]?.(ctx) ?? asSentence(msg)
}

/**
 * Returns the API's words as a sentence of pages. Names such as `node.json` keep their case. Pages have a button for what
 * the API names as an operation.
 */
export function asSentence(words: string): string {
  const plain = words
    .replace(/: (send (the page|it) to POST \S+|propose this change with a pull request)$/, '')
    .replace(/\b(change set|pull request)/gi, ([first = '']) => (first < 'a' ? 'Proposal' : 'proposal'))
  const whole = plain.replace(/^[a-z]+(?= |$)/, (word) => word.charAt(0).toUpperCase() + word.slice(1))
  return /[.!?]$/.test(whole) ? whole : `${whole}.`
}

function shown(number: unknown): string {
  return Number(number).toLocaleString('en')
}
