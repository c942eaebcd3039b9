/** Measures suggestions among 100,000 titles. English titles are typed letter by letter, Chinese ones by character. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suggest } from '../../index/search/answers/suggest.ts'
import { openSnapshots } from '../../index/search/segments/read-snapshots.ts'
import { loadLanguages } from '../../index/search/text/languages.ts'
import { openIndexes } from '../../server/domain/search/open-indexes.ts'
import { randomFrom } from '../support/random.ts'
import { interleave, turns } from './measure.ts'
import type { Report } from './report.ts'
import { createIndexFile, fillOrg, type Place, type Text } from './search-data.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

const memoryBytes = 2 ** 30
const times = 300
/** The limit of p99 in milliseconds. */
const limit = 10
const hanCount = 100_000
/** 400 characters. The first begins a tenth of the titles. */
const hanCharacters = Array.from({ length: 400 }, (_, n) => String.fromCodePoint(0x4e00 + 7 * n))

export async function benchTitles(report: Report, place: Place, texts: readonly Text[]): Promise<void> {
  const titles = texts.slice(0, times).map(({ title }) => title)
  const last = titles.map((title) => title.split(' ').at(-1) ?? '')
  const long = last.map((word) => word.padEnd(8, 'e'))
  await benchTyped(report, place, `${texts.length.toLocaleString('en')} titles`, [
    ['1 letter', last.map((word) => word.slice(0, 1))],
    ['3 letters', last.map((word) => word.slice(0, 3))],
    ['8 letters', titles.map((title) => title.slice(0, 8))],
    ['two words', titles.map((title) => title.split(' ').slice(0, 2).join(' '))],
    ['with an error', long.map((word) => `${word.slice(0, 3)}x${word.slice(4, 8)}`)],
  ])
}

/** Measures titles of one to six characters. */
export async function benchHanTitles(report: Report, place: Place): Promise<void> {
  const random = randomFrom(7)
  const draw = () => hanCharacters[Math.floor(random() ** 3 * hanCharacters.length)] ?? ''
  const texts = Array.from({ length: hanCount }, (_, n): Text => {
    const beginning = n % 10 === 0 ? hanCharacters[0] : ''
    const title = `${beginning}${Array.from({ length: 1 + Math.floor(random() * 6) }, draw).join('')}`
    return { id: `h${String(n).padStart(7, '0')}`, title, text: '' }
  })
  await createIndexFile(place.file)
  fillOrg(place.file, place.orgId, texts, [])
  await benchTyped(report, place, `${hanCount.toLocaleString('en')} Chinese titles`, [
    ['the most frequent character', [hanCharacters[0] ?? '']],
    ['one character', hanCharacters.slice(0, times)],
    ['two characters', texts.slice(0, times).map(({ title }) => title.slice(0, 2))],
  ])
}

async function benchTyped(
  report: Report,
  { file, folder, orgId }: Place,
  what: string,
  kinds: readonly (readonly [string, readonly string[]])[],
): Promise<void> {
  const languageOf = await loadLanguages()
  const indexes = openIndexes(openSnapshots(file), folder, memoryBytes, languageOf, (error) => console.error(error))
  const ask = (query: string) => indexes.ask(orgId, ({ texts }, rows) => suggest(texts, rows, { query, limit: 10 }))
  await ask('a')
  // MiniSearch's hundred thousand texts existed until just before. A search thread does not hold them.
  collectGarbage()
  const rows = await interleave(
    times,
    kinds.map(([kind, queries]) => {
      const next = turns(queries)
      return [kind, () => ask(next())] as const
    }),
  )
  report.rows(`suggestions, ${what}`, 'ms', rows)
  const slowest = rows.reduce((worst, row) => (row.p99 > worst.p99 ? row : worst))
  const of = { unit: 'ms', peer: 'the limit', of: limit, wanted: { atMost: 1 } }
  report.ratio({ what: `suggestions p99, ${what}, ${slowest.what}`, grove: slowest.p99, ...of })
}
