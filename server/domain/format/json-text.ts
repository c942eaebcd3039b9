/** JSON as it is written, where what JavaScript makes of it tells less. The texts are known to be JSON. */
import { excerpt } from './excerpt.ts'

/** A member of the outermost object: where its name begins, and from where to where its value stands. */
export interface Member {
  readonly name: string
  readonly start: number
  readonly from: number
  readonly to: number
}

/** What is open around a place: an object with the names that it has had so far, or an array. */
interface Frame {
  readonly names: Set<string> | undefined
  /** Of the object's member, or of the array's item, that is being read. */
  at: string | number
}

/** The members of the object that `text` is, in order, those of one name too. */
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

/** What JavaScript would lose of `text`, as sentences, `most` at most: names that are there twice, numbers that change. */
export function lossesOf(text: string, most: number): string[] {
  const losses: string[] = []
  const frames: Frame[] = []
  let isName = false
  for (const { kind, start, end } of tokensOf(text)) {
    const frame = frames.at(-1)
    if (kind === '{' || kind === '[')
      frames.push({ names: kind === '{' ? new Set() : undefined, at: kind === '{' ? '' : 0 })
    else if (kind === '}' || kind === ']') frames.pop()
    else if (kind === ',' && typeof frame?.at === 'number') frame.at++
    else if (kind === 'text' && isName && frame?.names) {
      frame.at = JSON.parse(text.slice(start, end)) as string // a token of kind text is a string
      if (frame.names.has(frame.at)) losses.push(`${pathOf(frames)} is named twice`)
      frame.names.add(frame.at)
    } else if (kind === 'number' && !isKept(text.slice(start, end)))
      losses.push(
        `${pathOf(frames)} is a number that is not kept exactly: ${excerpt(text.slice(start, end))}; write it as a text`,
      )
    isName = kind === '{' || (kind === ',' && frame?.names !== undefined)
    if (losses.length >= most) break
  }
  return losses
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
    } else if (/\S/.test(letter)) yield { kind: letter as Token['kind'], start, end } // JSON has no other letters there
    start = end
  }
}

/** After the quotation mark that closes the string, which has an even number of backslashes before it. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

/** Whether the number is told as it is written: none is infinite or becomes 0, and whole numbers keep every digit. */
function isKept(written: string): boolean {
  const value = Number(written)
  if (!Number.isFinite(value)) return false
  if (value === 0) return !/^[^eE]*[1-9]/.test(written)
  return Math.abs(value) <= Number.MAX_SAFE_INTEGER || decimal(written) === decimal(String(value))
}

/** One spelling of each number: digits without zeros at either end, and the power of ten of the last. */
function decimal(written: string): string {
  const [mantissa = '', exponent = '0'] = written.toLowerCase().replace('-', '').split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return `${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
