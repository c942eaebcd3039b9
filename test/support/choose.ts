/** Chooses test files by kind, by words, and by what a change touches. */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, sep } from 'node:path'
import { treeOf } from './seed.ts'

const kinds = ['test', 'deep', 'load', 'browser', 'tools', 'postgres', 'deploy'] as const
export type Kind = (typeof kinds)[number]

/** The ending of a test file names its kind. */
const isTest = new RegExp(`\\.(${kinds.join('|')})\\.ts$`)

/** Lists all test files of a kind, sorted. */
export function filesOf(kind: Kind): string[] {
  return readdirSync('test', { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((name) => name.endsWith(`.${kind}.ts`))
    .sort()
}

/**
 * Returns the files that words choose. A word is a file of any kind, a folder, or a part of a path. The last two choose
 * among `from`.
 *
 * @throws Error if a word chooses no file
 */
export function filesFor(words: readonly string[], from: readonly string[]): string[] {
  const chosen = words.flatMap((word) => {
    if (isTest.test(word) && existsSync(word)) return [word]
    const isFolder = existsSync(word) && statSync(word).isDirectory()
    const found = from.filter((file) => (isFolder ? file.startsWith(join(word, sep)) : file.includes(word)))
    if (found.length === 0) throw new Error(`No test file matches ${word}. Name a file, a folder, or a part of a path.`)
    return found
  })
  return [...new Set(chosen)]
}

/** Words in paths of the product whose tests are in a folder with another name. Sorted by word. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  access: ['permissions'],
  bootstrap: ['service', 'recovery'],
  cli: ['operator'],
  commands: ['operator'],
  credentials: ['accounts'],
  derived: ['index', 'recovery'],
  'event-log': ['events', 'webhooks'],
  format: ['nodes'],
  history: ['contents', 'gitstore'],
  ledger: ['pulls', 'review'],
  log: ['events'],
  objects: ['gitstore', 'contents'],
  process: ['service'],
  recovery: ['recovery', 'damage'],
  refs: ['branches', 'gitstore'],
  rules: ['consent'],
  tokens: ['accounts'],
  transfer: ['git'],
  vault: ['import', 'export', 'uploads'],
}

/** Returns the folders of `test/` that words in the paths of changed files name. */
function foldersTouchedBy(changed: readonly string[]): Set<string> {
  const folders = new Set(
    readdirSync('test', { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? one.name : [])),
  )
  const product = changed.filter((path) => /^(server|gitstore|index)\//.test(path))
  const words = product.flatMap((path) => path.replace(/\.\w+$/, '').split('/'))
  return new Set(words.flatMap((word) => [word, ...(elsewhere[word] ?? [])]).filter((word) => folders.has(word)))
}

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe' }).trim()

/**
 * Lists the files that differ from the commit before this change, also those not committed. It is the last common commit
 * with origin/main. On a clone of main itself, it is the last one that is half a day older than HEAD.
 */
function changedFiles(): string[] {
  const list = (...args: string[]) =>
    git(...args, '-z')
      .split('\0')
      .filter(Boolean)
  const base = baseOfChange()
  return [...new Set([...list('diff', '--name-only', base), ...list('ls-files', '--others', '--exclude-standard')])]
}

/** Returns the commit from which the change begins, if it is known. */
function forkOfChange(): string | undefined {
  if (process.env.GROVE_TEST_BASE) return process.env.GROVE_TEST_BASE
  const fork = attempt(() => git('merge-base', 'HEAD', 'origin/main'))
  return fork === git('rev-parse', 'HEAD') ? undefined : fork
}

function baseOfChange(): string {
  const fork = forkOfChange()
  if (fork !== undefined) return fork
  const head = git('rev-parse', 'HEAD')
  const halfDay = Number(git('show', '-s', '--format=%ct', 'HEAD')) - 43_200
  return (
    git('rev-list', '-1', `--before=${halfDay}`, 'HEAD') ||
    git('rev-list', '--max-parents=0', 'HEAD').split('\n')[0] ||
    head
  )
}

/** Returns true if this change adds or alters the file. Also true if nothing is known of earlier commits. */
export function isChanged(file: string): boolean {
  return attempt(changedFiles)?.includes(file) ?? true
}

/**
 * Returns a file as it was before this change. On a clone of main itself, it is that of the commit before HEAD, because a
 * base by time changes from run to run. Undefined if it was not there, or nothing is known of earlier commits.
 */
export function fileBefore(path: string): string | undefined {
  return attempt(() => git('show', `${forkOfChange() ?? 'HEAD^'}:${path}`))
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Returns the files that a change touches. They are its own, and those of the folders of its subjects. */
export function touchedFiles(from: readonly string[]): string[] {
  const changed = changedFiles()
  const folders = foldersTouchedBy(changed)
  return from.filter((file) => changed.includes(file) || folders.has(file.split('/')[1] ?? ''))
}

/**
 * Returns a quarter of the files. Touched ones come first, and the tree draws the order of the others. A landing takes the
 * same time for every change. Files that a large change touches, and that are left out, run at later landings and in
 * `npm run test:deep`.
 */
export function ofLanding(from: readonly string[]): string[] {
  const touched = new Set(attempt(() => touchedFiles(from)) ?? from)
  const tree = attempt(() => treeOf('HEAD')) ?? ''
  const rank = (file: string) =>
    `${touched.has(file) ? 0 : 1}${createHash('sha256').update(`${tree}${file}`).digest('hex')}`
  const ranked = from.map((file) => ({ file, rank: rank(file) })).sort((one, other) => (one.rank < other.rank ? -1 : 1))
  return ranked.slice(0, Math.ceil(from.length / 4)).map(({ file }) => file)
}

/** Lists files of `npm test` that have more tests in the deep tier. */
export function filesWithDeepTests(): string[] {
  return filesOf('test').filter((file) => /\b(runs|atBoundaries|it\.deep)\(/.test(readFileSync(file, 'utf8')))
}
