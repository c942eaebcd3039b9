/** How this repository is written: the table of `avoid.md`, and the lengths of sentences. */

import { readFile } from 'node:fs/promises'
import { type Sentence, wordsOf } from './prose.ts'

export interface WordRule {
  readonly name: string
  /** The text to write instead. */
  readonly say: string
  breaks(sentence: Sentence): boolean
}

const lengths: readonly WordRule[] = [
  { name: 'over 40 words', say: 'two sentences or more', breaks: ({ text }) => wordsOf(text) > 40 },
  { name: 'over 25 words', say: 'two sentences', breaks: ({ text }) => wordsOf(text) > 25 },
  {
    name: 'a docstring begins with over 15 words',
    say: 'a short first sentence',
    breaks: ({ text, isFirst }) => isFirst && wordsOf(text) > 15,
  },
  {
    name: 'two semicolons',
    say: 'full stops or a list',
    breaks: ({ text }) => (text.match(/;/g) ?? []).length > 1,
  },
]

/** @throws Error: the table is missing, or a row of it is no rule */
export async function readWordRules(): Promise<WordRule[]> {
  const page = await readFile('test/readme/avoid.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(.+?)` \| (.+?) \| (everywhere|sentences|comments) \|$/gm)]
  if (rows.length === 0) throw new Error('avoid.md has no table of words to avoid')
  const avoided = rows.map(([, pattern = '', say = '', place]): WordRule => {
    const regex = new RegExp(pattern.replaceAll('\\|', '|'), 'iu')
    return { name: regex.source, say, breaks: (sentence) => reaches(place, sentence) && regex.test(sentence.text) }
  })
  return [...avoided, ...lengths]
}

/** True if a rule for `place`, the last column of the table, is about the sentence. */
function reaches(place = '', { surface, text }: Sentence): boolean {
  if (place === 'comments') return surface === 'comments' || surface === 'docstrings'
  return place === 'everywhere' || (surface !== 'headings' && wordsOf(text) >= 5)
}
