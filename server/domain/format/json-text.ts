/** JSON source text: parsed, and where parsing would lose information. */
import { excerpt } from './excerpt.ts'

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Whether parsed JSON is an object, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A member of the outermost object: the start of its name, and the range of its value. */
export interface Member {
  readonly name: string
  readonly start: number
  readonly from: number
  readonly to: number
}

/** An open object, with the names seen so far, or an open array. */
interface Frame {
  readonly names: Set<string> | undefined
  /** The current member's name or item's index. */
  at: string | number
}

/** The members of the object in `text`, in order, duplicates included. */
export function membersOf(text: string): Member[] {
  const members: Member[] = []
  let name: Token | undefined
  let from: number | undefined
  let depth = 0
  for (const token of tokensOf(text)) {
    if (token.kind === '}' || token.kind === ']') depth--
    if (depth === 1 && name === undefined && token.kind === 'text') name = token
    else if (depth === 1 && name && from === undefined && token.kind !== ':') from = token.start
    if (token.kind === '{' || token.kind === '[') depth++
    if (depth === 1 && name && from !== undefined) {
      members.push({ name: JSON.parse(text.slice(name.start, name.end)), start: name.start, from, to: token.end })
      name = undefined
      from = undefined
    }
  }
  return members
}

/** What parsing `text` would lose, as sentences, at most `most`: duplicate names, numbers that change. */
export function lossesOf(text: string, most: number): string[] {
  const losses: string[] = []
  for (const loss of eachLoss(text)) {
    if (loss === undefined) continue
    losses.push(loss.reason)
    if (losses.length >= most) break
  }
  return losses
}

interface Loss {
  readonly reason: string
  /** The members and items on the way there, from the outermost. */
  readonly steps: readonly (string | number)[]
}

/** Tokens between two turns: 1 ms. */
const tokensAtOnce = 5_000

/** As lossesOf, one after the other; undefined where it is time to let others work. */
export function* eachLoss(text: string): Generator<Loss | undefined> {
  const frames: Frame[] = []
  let isName = false
  let tokens = 0
  const loss = (what: string): Loss => ({ reason: `${pathOf(frames)} ${what}`, steps: frames.map(({ at }) => at) })
  for (const { kind, start, end } of tokensOf(text)) {
    const frame = frames.at(-1)
    if (kind === '{' || kind === '[')
      frames.push({ names: kind === '{' ? new Set() : undefined, at: kind === '{' ? '' : 0 })
    else if (kind === '}' || kind === ']') frames.pop()
    else if (kind === ',' && typeof frame?.at === 'number') frame.at++
    else if (kind === 'text' && isName && frame?.names) {
      frame.at = JSON.parse(text.slice(start, end)) as string // a token of kind text is a string
      if (frame.names.has(frame.at)) yield loss('is named twice')
      frame.names.add(frame.at)
    } else if (kind === 'number' && !isKept(text.slice(start, end)))
      yield loss(`is a number that is not kept exactly: ${excerpt(text.slice(start, end))}; write it as a text`)
    isName = kind === '{' || (kind === ',' && frame?.names !== undefined)
    if (++tokens % tokensAtOnce === 0) yield undefined
  }
}

function pathOf(frames: readonly Frame[]): string {
  const path = frames.map(({ at }) => (typeof at === 'number' ? `[${at}]` : `.${at}`)).join('')
  return excerpt(path.replace(/^\./, ''))
}

interface Token {
  readonly kind: '{' | '}' | '[' | ']' | ':' | ',' | 'text' | 'number' | 'word'
  readonly start: number
  readonly end: number
}

function* tokensOf(text: string): Generator<Token> {
  for (let start = 0; start < text.length; ) {
    const letter = text[start] ?? ''
    let end = start + 1
    if (letter === '"') {
      end = endOfText(text, start)
      yield { kind: 'text', start, end }
    } else if (/[-0-9a-z]/.test(letter)) {
      while (/[-+.0-9a-zA-Z]/.test(text[end] ?? '')) end++
      yield { kind: /[a-z]/.test(letter) ? 'word' : 'number', start, end }
    } else if (/\S/.test(letter)) yield { kind: letter as Token['kind'], start, end } // no other letters occur there in valid JSON
    start = end
  }
}

/** The position after the closing quotation mark, which an even number of backslashes precedes. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

/** Whether the number survives parsing: not infinite, not rounded to 0, and all digits of integers kept. */
function isKept(written: string): boolean {
  const value = Number(written)
  if (!Number.isFinite(value)) return false
  if (value === 0) return !/^[^eE]*[1-9]/.test(written)
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER || decimal(written) === decimal(String(value))
}

/** A canonical spelling of a number: digits without outer zeros, and the exponent of the last. */
function decimal(written: string): string {
  const [mantissa = '', exponent = '0'] = written.toLowerCase().replace('-', '').split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
