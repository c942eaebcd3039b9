/**
 * Lists sentences that break the rules of `avoid.md`: `npm run words [-- FILE|FOLDER…]`.
 *
 * `--counts` prints the counts of the whole repository, which `test/readme/words.json` records. `--write` records them.
 */

import { writeFile } from 'node:fs/promises'
import { type Sentence, sentencesIn } from './prose.ts'
import { countsFile, countsOf } from './word-counts.ts'
import { readWordRules } from './word-rules.ts'

const args = process.argv.slice(2)
const rules = await readWordRules()
const sentences = await sentencesIn(args.filter((arg) => !arg.startsWith('--')))
if (args.includes('--write')) await writeFile(countsFile, `${JSON.stringify(countsOf(rules, sentences), null, 2)}\n`)
else if (args.includes('--counts')) console.log(JSON.stringify(countsOf(rules, sentences), null, 2))
else console.log(sentences.flatMap(faultsOf).join('\n'))

function faultsOf(sentence: Sentence): string[] {
  const { file, line, surface, text } = sentence
  return rules
    .filter(({ breaks }) => breaks(sentence))
    .map(({ name, say }) => `${file}:${line} ${surface} [${name} → ${say}] ${text}`)
}
