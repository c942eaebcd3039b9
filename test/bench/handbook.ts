/**
 * Makes collections for `npm run bench:search` of two public handbooks: `npm run bench:handbook OUT CHECKOUT…`. The
 * checkouts are in the order of `source` in paraphrases.json, at its commits.
 *
 * `paraphrases` has questions that share no word with their pages, and `paraphrases-lower` the same without capitals.
 * `headings` has headings of the pages. Nothing is written if a page or a question is not as it was frozen.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HandbookPage } from './handbook-pages.ts'
import { type Frozen, faultsOf, type JudgedQuestion, pagesOfAll } from './handbook-questions.ts'

const frozen: Frozen = JSON.parse(readFileSync(new URL('paraphrases.json', import.meta.url), 'utf8'))
const [out, ...checkouts] = process.argv.slice(2)
const areComplete = frozen.source.every(({ folder }, at) => existsSync(join(checkouts[at] ?? '', folder)))
if (out === undefined || checkouts.length !== frozen.source.length || !areComplete) {
  const sources = frozen.source.map(({ repository, commit }) => `  ${repository} ${commit}`)
  console.log(`npm run bench:handbook OUT CHECKOUT… needs checkouts of these, in this order:\n${sources.join('\n')}`)
  process.exit(1)
}
const pages = pagesOfAll(frozen.source, checkouts)
const faults = faultsOf(frozen, pages)
if (faults.length > 0) {
  console.log(`Nothing was written, because these differ from paraphrases.json:\n${faults.join('\n')}`)
  process.exit(1)
}
const lower = frozen.questions.map(({ question, ...asked }) => ({ question: question.toLowerCase(), ...asked }))
write('paraphrases', pages, frozen.questions)
write('paraphrases-lower', pages, lower)
write('headings', pages, frozen.headings)

function write(name: string, documents: readonly HandbookPage[], questions: readonly JudgedQuestion[]): void {
  const folder = join(out ?? '.', name)
  mkdirSync(folder, { recursive: true })
  const texts = documents.map(({ path, title, text }) => ({ _id: path, title, text }))
  const asked = questions.map(({ question }, at) => ({ _id: String(at), text: question }))
  const judged = questions.flatMap(({ pages: paths }, at) => paths.map((path) => `${at}\t${path}\t1`))
  writeFileSync(join(folder, 'corpus.jsonl'), linesOf(texts.map((text) => JSON.stringify(text))))
  writeFileSync(join(folder, 'queries.jsonl'), linesOf(asked.map((one) => JSON.stringify(one))))
  writeFileSync(join(folder, 'qrels.tsv'), linesOf(['query-id\tcorpus-id\tscore', ...judged]))
  console.log(`${folder}: ${texts.length} pages, ${asked.length} questions`)
}

function linesOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
