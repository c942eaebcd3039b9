/** The frozen questions about two public handbooks, and what holds for them. */
import { proseOf } from '../../index/search/text/prose.ts'
import { randomFrom } from '../support/random.ts'
import { type HandbookPage, handbookPages, sharedTerms } from './handbook-pages.ts'

/** A question and the paths of the pages that answer it, the target first. */
export interface JudgedQuestion {
  readonly question: string
  readonly pages: readonly string[]
}

/** A handbook at a commit. Only pages below `folder` count. */
export interface HandbookSource {
  readonly name: string
  readonly repository: string
  readonly commit: string
  readonly folder: string
  readonly licence: string
}

/** The content of paraphrases.json. */
export interface Frozen {
  readonly source: readonly HandbookSource[]
  /** SHA-256 of the file of each page, by path. */
  readonly pages: Readonly<Record<string, string>>
  readonly questions: readonly JudgedQuestion[]
  /** Headings of the pages, as questions of someone who knows the words. */
  readonly headings: readonly JudgedQuestion[]
}

const HEADINGS = 150

/** The fewest and the most words of a question. */
const FEWEST_WORDS = 5
const MOST_WORDS = 14

/** Reads the pages of all sources. `checkouts` are in the order of `source`. */
export function pagesOfAll(source: readonly HandbookSource[], checkouts: readonly string[]): HandbookPage[] {
  return source.flatMap(({ name, folder }, at) => handbookPages(name, checkouts[at] ?? '.', folder))
}

/** Draws 150 headings of at least two words, the same in every run. Their pages are all that have the heading. */
export function drawnHeadings(pages: readonly HandbookPage[]): JudgedQuestion[] {
  const holders = new Map<string, string[]>()
  for (const page of pages)
    for (const heading of new Set(headingsOf(page))) holders.set(heading, [...(holders.get(heading) ?? []), page.path])
  const random = randomFrom(HEADINGS)
  return [...holders]
    .map(([question, paths]) => ({ question, pages: paths, place: random() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, HEADINGS)
    .map(({ question, pages: paths }) => ({ question, pages: paths }))
}

/** Returns the headings of a page that have at least two words and no marks of Markdown. */
function headingsOf({ text }: HandbookPage): string[] {
  const { text: prose, headings } = proseOf(text)
  return headings
    .map(({ start, end }) => prose.slice(start, end).trim().replace(/\s+/g, ' '))
    .filter((heading) => /^[\p{L}\p{N}].* .*\p{L}/u.test(heading) && !/[{}<>[\]]/.test(heading))
}

/** Returns one line for each way in which the frozen questions do not fit the pages. */
export function faultsOf({ pages: hashes, questions, headings }: Frozen, pages: readonly HandbookPage[]): string[] {
  const byPath = new Map(pages.map((page) => [page.path, page]))
  const changed = Object.entries(hashes).filter(([path, hash]) => byPath.get(path)?.hash !== hash)
  const added = pages.filter(({ path }) => hashes[path] === undefined)
  const isDrawn = JSON.stringify(headings) === JSON.stringify(drawnHeadings(pages))
  return [
    ...changed.map(([path]) => `${path}: the page is absent or has changed`),
    ...added.map(({ path }) => `${path}: the page was not frozen`),
    ...questions.flatMap((asked) => faultsOfQuestion(asked, byPath)),
    ...(isDrawn ? [] : ['headings: other headings are drawn from these pages']),
  ]
}

/** The target shares no term with the question, and a further page at most one. */
function faultsOfQuestion({ question, pages }: JudgedQuestion, byPath: ReadonlyMap<string, HandbookPage>): string[] {
  const words = question.split(' ').length
  const isLong = words >= FEWEST_WORDS && words <= MOST_WORDS
  const faults = pages.flatMap((path, at) => {
    const page = byPath.get(path)
    if (!page) return [`no page ${path}`]
    const shared = sharedTerms(question, page)
    return shared.length > (at === 0 ? 0 : 1) ? [`${path} has ${shared.join(', ')}`] : []
  })
  return [...(isLong ? [] : [`${words} words`]), ...faults].map((fault) => `“${question}”: ${fault}`)
}
