/** Reads the demo's pages. The front matter of their files also has authors and changes, with days. */

import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { linkNames } from '../pages/linking.ts'

const folder = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './handbook' : '../server/demo/handbook', import.meta.url),
)

export type Writer = 'ann' | 'ben' | 'cleo' | 'assistant'

/** A replacement of words in a text, in both directions. */
interface Change {
  readonly was: string
  readonly now: string
}

/** One step of a conversation. Numbers count steps of the same conversation from 0. */
export interface Turn {
  readonly by: 'ann' | 'ben' | 'cleo'
  readonly day: number
  readonly say?: string
  /** The quoted words of a new thread. */
  readonly on?: string
  readonly suggest?: string
  /** The step that it answers. */
  readonly answer?: number
  readonly review?: 'approve' | 'request_changes'
  /** The step whose thread it resolves. */
  readonly resolve?: number
  /** The step whose suggestion it applies. */
  readonly apply?: number
  readonly change?: Change & { readonly message: string }
  readonly end?: 'merge' | 'close'
}

/** A change of a page. It is a proposal if `cleo` or `assistant` makes it, or if it has `proposal`. */
export interface Edit extends Change {
  readonly by: Writer
  readonly day: number
  readonly message: string
  /** The words that were merged, if the conversation changed them. Default: `now`. */
  readonly final?: string
  readonly set?: Record<string, unknown>
  readonly proposal?: {
    readonly text?: string
    readonly reviewers?: readonly ('ann' | 'ben')[]
    readonly talk: readonly Turn[]
  }
}

export interface Page {
  /** The path without `.md`. */
  readonly key: string
  readonly title: string
  /** The key of the page above it. */
  readonly parent: string | undefined
  readonly by: 'ann' | 'ben'
  /** Days before today. */
  readonly day: number
  readonly tags: readonly string[]
  readonly properties: Record<string, unknown>
  /** Connections: titles of pages by type. */
  readonly to: Readonly<Record<string, readonly string[]>>
  readonly links: readonly string[]
  /** The first version. */
  readonly text: string
  readonly files: readonly { readonly path: string; readonly content: string }[]
  readonly edits: readonly Edit[]
}

export interface Handbook {
  readonly pages: readonly Page[]
  /** Definitions by name. */
  readonly types: Readonly<Record<string, object>>
}

/** @param today `{{12}}` in a file is 12 days before it, `{{-12}}` 12 days after it */
export async function readHandbook(today: Date): Promise<Handbook> {
  const read = async (path: string) => dated(await readFile(join(folder, path), 'utf8'), today)
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.md')).sort()
  const pages = await Promise.all(paths.map(async (path) => pageOf(path, await read(path), read)))
  return { pages, types: parse(await read('types.yaml')) }
}

function dated(text: string, today: Date): string {
  return text.replace(/\{\{(-?\d+)\}\}/g, (_, days) => dayBefore(today, Number(days)).toISOString().slice(0, 10))
}

export function dayBefore(today: Date, days: number): Date {
  return new Date(today.getTime() - days * 86_400_000)
}

async function pageOf(path: string, source: string, read: (path: string) => Promise<string>): Promise<Page> {
  const [, head = '', last = ''] = /^---\n([\s\S]*?)\n---\n\n?([\s\S]*)$/.exec(source) ?? []
  const { title, by, day, tags = [], properties = {}, to = {}, edits = [] } = parse(head)
  const key = path.replace(/\.md$/, '')
  // From the last version back to the first. Changes that were never accepted are not in the text.
  const text = edits.filter(isAccepted).reduceRight(earlier, last)
  const files = [...last.matchAll(/\]\(([\w-]+\.(?:svg|csv))\)/g)].map(([, name = '']) => name)
  return {
    ...{ key, title, by, day, tags, properties, to, edits, text },
    parent: key === 'home' ? undefined : dirname(key) === '.' ? 'home' : dirname(key),
    links: linkNames(last),
    files: await Promise.all(
      [...new Set(files)].map(async (name) => ({
        path: name,
        content: await read(join(dirname(path), basename(name))),
      })),
    ),
  }
}

function isAccepted({ proposal }: Edit): boolean {
  return proposal === undefined || proposal.talk.some(({ end }) => end === 'merge')
}

function earlier(text: string, { was, now, final = now }: Edit): string {
  return replaced(text, final, was)
}

/** @throws Error: the words are missing */
export function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`The demo has no such words: ${from}`)
  return text.replace(from, () => to)
}
