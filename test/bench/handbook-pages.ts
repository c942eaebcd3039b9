/** Reads the pages of public handbooks, and judges which words a question shares with a page. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { allTerms, contentTerms } from '../../index/search/text/analyzer.ts'
import { proseOf } from '../../index/search/text/prose.ts'
import { yamlLines } from '../../server/markdown/front-matter-lines.ts'

/** A page of a handbook, as a collection has it. */
export interface HandbookPage {
  /** The name of the handbook and the path in its repository. */
  readonly path: string
  readonly title: string
  /** Markdown without front matter and without tags of templates. */
  readonly text: string
  /** Hex of the SHA-256 of the file. */
  readonly hash: string
}

/** Pages with fewer words say too little for a question. */
const FEWEST_WORDS = 150

const LONGEST_FRONT_MATTER = 10_000

/** Tags of Liquid and of ERB, which readers of the handbooks do not see. */
const TEMPLATE_TAGS = /\{%[\s\S]*?%\}|\{\{[\s\S]*?\}\}|<%[\s\S]*?%>/g

/** Returns the pages with prose below `folder` of the checkout of a handbook, in the order of their paths. */
export function handbookPages(name: string, checkout: string, folder: string): HandbookPage[] {
  return readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.md(?:\.erb)?$/.test(file))
    .sort()
    .map((file) => {
      const path = join(folder, file).replaceAll('\\', '/')
      return pageOf(`${name}/${path}`, readFileSync(join(checkout, path), 'utf8'))
    })
    .filter(({ text }) => proseOf(text).text.split(/\s+/).length >= FEWEST_WORDS)
}

/** Reads the source of one page. */
export function pageOf(path: string, source: string): HandbookPage {
  const lines = yamlLines(source, LONGEST_FRONT_MATTER)
  const fields: unknown = lines ? parse(source.slice(lines.start, lines.end)) : undefined
  const title = fields instanceof Object && 'title' in fields ? String(fields.title) : ''
  return {
    path,
    title: title.replace(/<[^>]*>/g, '').trim(),
    text: source.slice(lines?.body ?? 0).replace(TEMPLATE_TAGS, ''),
    hash: createHash('sha256').update(source).digest('hex'),
  }
}

/** Returns the terms of a question that the title or the text of a page has. */
export function sharedTerms(question: string, { title, text }: Pick<HandbookPage, 'title' | 'text'>): string[] {
  const known = new Set(allTerms(`${title}\n${proseOf(text).text}`))
  return [...new Set(contentTerms(question))].filter((term) => known.has(term))
}
