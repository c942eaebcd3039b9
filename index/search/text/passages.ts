/** Cuts a text into passages, which are scored and shown individually. */
import { type Prose, proseOf, sourceOffset } from './prose.ts'
import { isUnspaced, type Span } from './scripts.ts'

/** A part of a node's prose between two headings, trimmed, with offsets in the prose. */
export interface Passage extends Span {
  /** The nearest heading above, or an empty string. */
  heading: string
  /** The line of the source at which the passage begins, from 1. */
  line: number
  /** The indexed text: the node's title, the heading and the passage. */
  text: string
}

/** Limits on the words of a passage. Shorter paragraphs are joined, longer ones cut. */
const FEWEST_WORDS = 60
const MOST_WORDS = 250

/** Characters that count as a word in a script without spaces. */
const UNSPACED_WORD = 2

const PARAGRAPH_END = /\n[ \t\r]*\n\s*/g

/** Up to 40 characters without white space, with trailing 。！？ and spaces. In longer runs, each 40 count as a word. */
const TOKEN = /[^\s。！？]{1,40}(?:[。！？]+[”」』）]*)?\s*|[。！？]+\s*/gu

const SENTENCE_END = /[.!?…]['"’”)\]]*\s+$|[。！？][”」』）]*\s*$/

/** A part of the text that is not divided further, with its number of words. */
interface Unit extends Span {
  words: number
}

/**
 * Returns the passages of a node by position. Cuts the text at headings, then at blank lines, into 60 to 250 words. A
 * shorter section is its own passage. A longer paragraph is cut at the ends of sentences, or of words. Returns none
 * instead of a single one. Linear in `source`.
 *
 * @param source Markdown
 */
export function passagesOf(title: string, source: string, prose = proseOf(source)): Passage[] {
  const lineAt = lineCounter(source)
  const passages: Passage[] = []
  for (const section of sectionsOf(prose)) {
    const { heading } = section
    for (const { start, end } of joined([...unitsIn(prose.text, section)])) {
      const text = [title, heading, prose.text.slice(start, end)].filter((part) => part !== '').join('\n')
      passages.push({ start, end, heading, line: lineAt(sourceOffset(prose, start)), text })
    }
  }
  return passages.length < 2 ? [] : passages
}

/** Returns the sections between headings, each with its heading. */
function sectionsOf({ text, headings }: Prose): (Span & { heading: string })[] {
  const beginnings = [{ start: 0, end: 0 }, ...headings]
  return beginnings.map(({ start, end }, at) => ({
    heading: text.slice(start, end),
    start: end,
    end: headings[at]?.start ?? text.length,
  }))
}

/** Joins units until they have 60 words. A shorter rest joins the passage before it. */
function joined(units: Unit[]): Unit[] {
  const passages: Unit[] = []
  for (const unit of units) {
    const last = passages.at(-1)
    if (last && last.words < FEWEST_WORDS && last.words + unit.words <= MOST_WORDS) extend(last, unit)
    else passages.push({ ...unit })
  }
  const [before, rest] = passages.slice(-2)
  if (before && rest && rest.words < FEWEST_WORDS && before.words + rest.words <= MOST_WORDS) {
    extend(before, rest)
    passages.pop()
  }
  return passages
}

function extend(unit: Unit, by: Unit): void {
  unit.end = by.end
  unit.words += by.words
}

/** Yields the paragraphs of a section, cut into units of at most 250 words. */
function* unitsIn(text: string, { start, end }: Span): Generator<Unit> {
  const section = text.slice(start, end)
  let from = 0
  for (const { 0: blank, index } of section.matchAll(PARAGRAPH_END)) {
    yield* piecesOf(section.slice(from, index), start + from)
    from = index + blank.length
  }
  yield* piecesOf(section.slice(from), start + from)
}

function* piecesOf(paragraph: string, offset: number): Generator<Unit> {
  let start = 0
  let words = 0
  /** The end of the last sentence that completes a unit of 60 words or more. */
  let sentence = { end: 0, words: 0 }
  const unit = (end: number, count: number): Unit => ({ ...trimmed(paragraph, start, end, offset), words: count })
  for (const { 0: token, index } of paragraph.matchAll(TOKEN)) {
    const more = isUnspaced(token) ? Math.ceil(token.trimEnd().length / UNSPACED_WORD) : 1
    if (words + more > MOST_WORDS) {
      const cut = sentence.end > start ? sentence : { end: index, words }
      yield unit(cut.end, cut.words)
      start = cut.end
      words -= cut.words
    }
    words += more
    const end = index + token.length
    if (words >= FEWEST_WORDS && SENTENCE_END.test(token)) sentence = { end, words }
  }
  if (words > 0) yield unit(paragraph.length, words)
}

/** Returns the trimmed span, moved by `offset`. */
function trimmed(text: string, start: number, end: number, offset: number): Span {
  const part = text.slice(start, end)
  const blank = part.length - part.trimStart().length
  return { start: offset + start + blank, end: offset + start + part.trimEnd().length }
}

/** Returns a function from ascending offsets to line numbers, from 1. */
function lineCounter(text: string): (at: number) => number {
  let line = 1
  let read = 0
  return (at) => {
    for (let next = text.indexOf('\n', read); next >= 0 && next < at; next = text.indexOf('\n', read)) {
      line++
      read = next + 1
    }
    return line
  }
}
