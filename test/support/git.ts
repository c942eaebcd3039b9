/** Runs native Git in a repository of the tested service, as an operator does. */

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { moveBranch, readBranch } from './git-files.ts'
import { commitPlainly, defaults, type HandCommit, type HandFile, partsOf } from './plain-commits.ts'

export { looseFile } from './git-files.ts'

interface GitOptions {
  readonly input?: string | Buffer
  readonly env?: Readonly<Record<string, string>>
}

export interface Git {
  readonly dir: string
  /** Returns Git's output, without the final newline. @throws Error with Git's words if it does not end with 0 */
  say(...args: readonly string[]): string
  lines(...args: readonly string[]): string[]
  run(args: readonly string[], options?: GitOptions): Buffer
  /** Creates a commit that no ref names yet, and returns its id. */
  commit(commit: HandCommit): string
  /** Moves `refs/heads/<branch>` as `git update-ref` does. null deletes it. */
  point(branch: string, oid: string | null): void
  head(branch?: string): string
  /** Returns every id that `git log` shows of `branch`, in its order. */
  log(branch?: string): string[]
  /** Makes all objects and refs loose, as commits leave them. In a new repository all of them are packed. */
  loosen(): void
  /** @throws Error if `git fsck --full --strict` reports anything except dangling objects */
  fsck(): void
}

/** Opens the bare repository of a node. */
export function gitIn({ dataDir }: { readonly dataDir: string }, org: string, node: string): Git {
  const dir = join(dataDir, org, `${node}.git`)
  const run = (args: readonly string[], { input = '', env = {} }: GitOptions = {}) =>
    execFileSync('git', args, { env: { ...environment(dir), ...env }, input, stdio: 'pipe', maxBuffer: 1e9 })
  const say = (...args: readonly string[]) => run(args).toString('utf8').trimEnd()
  const lines = (...args: readonly string[]) =>
    say(...args)
      .split('\n')
      .filter(Boolean)
  return {
    dir,
    say,
    lines,
    run,
    commit: (commit) => commitPlainly(dir, commit) ?? commitByGit(run, commit),
    point: (branch, oid) => {
      if (oid === null) say('update-ref', '-d', `refs/heads/${branch}`)
      else if (!moveBranch(dir, branch, oid)) say('update-ref', `refs/heads/${branch}`, oid)
    },
    head: (branch = 'main') => readBranch(dir, branch) ?? say('rev-parse', '--verify', `refs/heads/${branch}`),
    log: (branch = 'main') => lines('log', '--format=%H', `refs/heads/${branch}`),
    loosen: () => {
      const folder = join(dir, 'objects/pack')
      const packs = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.pack')) : []
      for (const pack of packs) {
        const bytes = readFileSync(join(folder, pack))
        for (const end of ['.idx', '.rev', '.pack']) rmSync(join(folder, pack.replace('.pack', end)), { force: true })
        run(['unpack-objects', '-q'], { input: bytes })
      }
      const refs = lines('for-each-ref', '--format=%(refname) %(objectname)')
      for (const [ref = '', oid] of refs.map((line) => line.split(' '))) {
        mkdirSync(dirname(join(dir, ref)), { recursive: true })
        writeFileSync(join(dir, ref), `${oid}\n`)
      }
      rmSync(join(dir, 'packed-refs'), { force: true })
    },
    fsck: () => {
      const said = lines(...fsckWords(dir))
      if (said.length > 0) throw new Error(said.join('\n'))
    },
  }
}

/**
 * Returns the words of `git fsck` that check only existing indexes. Otherwise it starts a Git process for the
 * commit-graph and one for the multi-pack-index, even if these do not exist.
 */
export function fsckWords(dir: string): string[] {
  const without = (setting: string, ...files: string[]) =>
    files.some((file) => existsSync(join(dir, 'objects', file))) ? [] : ['-c', `core.${setting}=false`]
  const graph = without('commitGraph', 'info/commit-graph', 'info/commit-graphs')
  const packs = without('multiPackIndex', 'pack/multi-pack-index', 'pack/multi-pack-index.d')
  return [...graph, ...packs, 'fsck', '--full', '--strict', '--no-dangling', '--no-progress']
}

/** The environment of Git: the repository, and nothing of the machine. */
export function environment(dir: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    LC_ALL: 'C',
    GIT_DIR: dir,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'Operator',
    GIT_AUTHOR_EMAIL: 'operator@example.org',
    GIT_COMMITTER_NAME: 'Operator',
    GIT_COMMITTER_EMAIL: 'operator@example.org',
  }
}

/** Writes a commit by Git only. */
export function commitByGit(run: Git['run'], commit: HandCommit): string {
  const { files, parents, message, at, author }: Required<HandCommit> = { ...defaults, ...commit }
  const index = join(tmpdir(), `grove-test-index-${randomUUID()}`)
  const env = { GIT_INDEX_FILE: index }
  const say = (args: readonly string[], options: GitOptions = {}) =>
    run(args, { ...options, env: { ...env, ...options.env } })
      .toString('utf8')
      .trimEnd()
  try {
    if (parents[0] !== undefined) say(['read-tree', parents[0]])
    const oids = blobsOf(run, Object.values(files))
    const entries = Object.entries(files).map(([path, file]) => `${entryOf(file, oids)}\t${path}\0`)
    say(['update-index', '-z', '--index-info'], { input: entries.join('') })
    const tree = say(['write-tree', '--missing-ok'])
    const date = `${at} +0000`
    return say(['commit-tree', tree, ...parents.flatMap((parent) => ['-p', parent]), '-m', message], {
      env: { GIT_AUTHOR_NAME: author, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date },
    })
  } finally {
    rmSync(index, { force: true })
  }
}

/** Writes all new contents with one process, and returns their ids. */
function blobsOf(run: Git['run'], files: readonly HandFile[]): Map<string | Buffer, string> {
  const given = files.filter((file) => file !== null).map(partsOf)
  const contents = [...new Set(given.filter(({ oid }) => oid === undefined).map(({ content }) => content))]
  if (contents.length === 0) return new Map()
  const folder = mkdtempSync(join(tmpdir(), 'grove-test-blobs-'))
  try {
    const paths = contents.map((_, n) => join(folder, String(n)))
    for (const [n, content] of contents.entries()) writeFileSync(paths[n] ?? '', content)
    const said = run(['hash-object', '-w', '--no-filters', '--stdin-paths'], { input: `${paths.join('\n')}\n` })
    const oids = said.toString('latin1').split('\n')
    return new Map(contents.map((content, n) => [content, oids[n] ?? '']))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns the mode and id of a file. Mode 0 removes it. */
function entryOf(file: HandFile, oids: ReadonlyMap<string | Buffer, string>): string {
  if (file === null) return `0 ${'0'.repeat(40)}`
  const { mode, content, oid = oids.get(content) } = partsOf(file)
  return `${mode} ${oid}`
}
