/**
 * Real repositories move in: `npm run test:real -- REPOSITORY…`, each a clone on this machine. Its HEAD is pushed to a node
 * as `main`, with all tags; then every page of history, 200 commits and 50 comparisons answer as git does.
 */

import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { newDataDir } from '../support/data-folder.ts'
import { newDesk, remoteUrl } from '../support/desk.ts'
import { environment } from '../support/git.ts'
import { expecting, newNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { chance } from '../support/seed.ts'
import { spawnGrove } from '../support/spawned-grove.ts'

const detailsAtRandom = 200
const comparisonsAtRandom = 50
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

const repositories = process.argv.slice(2)
if (repositories.length === 0) {
  console.error('npm run test:real -- REPOSITORY…')
  process.exit(2)
}
const dataDir = await newDataDir()
const grove = await spawnGrove(dataDir)
const desk = await newDesk()
let wrong = 0
try {
  const ann = await signUp(grove, 'Ann')
  for (const repository of repositories) wrong += await moveIn(ann, resolve(repository))
} finally {
  await desk.remove()
  await grove.stop()
  await rm(dataDir, { recursive: true, force: true })
}
process.exit(wrong === 0 ? 0 : 1)

/** The number of things that are not as git has them. */
async function moveIn(ann: PersonClient, repository: string): Promise<number> {
  const name = basename(repository) === 'repo' ? basename(resolve(repository, '..')) : basename(repository)
  const node = await newNode(grove, ann, { title: name, initialize: false })
  const url = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
  const started = performance.now()
  const pushed = await desk.sh(`git -C ${repository} push -q ${url} HEAD:refs/heads/main`)
  const took = performance.now() - started
  if (pushed.code !== 0) {
    console.log(`${name}: refused\n${pushed.text}`)
    return 1
  }
  const tags = await desk.sh(`git -C ${repository} push -q --tags ${url}`)
  const git = (...args: string[]) =>
    execFileSync('git', args, { env: environment(node.git.dir), maxBuffer: 1e9 })
      .toString()
      .split('\n')
      .filter(Boolean)
  const problems: string[] = []
  const same = (what: string, ours: unknown, gits: unknown) => {
    if (JSON.stringify(ours) !== JSON.stringify(gits))
      problems.push(`${what}: ${JSON.stringify(ours)} is not ${JSON.stringify(gits)}`.slice(0, 500))
  }
  const log = git('log', '--format=%H', 'main')
  let pages = 0
  for (let offset = 0; offset < log.length; offset += 200, pages++) {
    const { body } = await ann.get(`${node.at}/tree/main/commits?limit=200&offset=${offset}`).then(expecting(200))
    same(`total at ${offset}`, body.total, log.length)
    same(
      `page at ${offset}`,
      body.history.map((commit: { id: string }) => commit.id),
      log.slice(offset, offset + 200),
    )
  }
  for (let n = 0; n < detailsAtRandom; n++) {
    const oid = oneOf(log)
    const { body } = await ann.get(`${node.at}/tree/main/commits/${oid}`).then(expecting(200))
    const [, parent = emptyTree] = git('rev-list', '--parents', '-n1', oid)[0]?.split(' ') ?? []
    same(
      `details of ${oid}`,
      listed(body.changes),
      git('-c', 'core.quotePath=false', 'diff-tree', '-r', '--no-renames', '--raw', '--abbrev=40', parent, oid)
        .map(asListed)
        .sort(),
    )
  }
  for (let n = 0; n < comparisonsAtRandom; n++) {
    const [base, head] = [oneOf(log), oneOf(log)]
    const { body } = await ann.get(`${node.at}/compare?base=${base}&head=${head}`)
    // 413 where the two differ in more files than the service lists.
    if (body.code === 'too_large') continue
    const [ofBase, ofHead] = [new Set(git('rev-list', base)), new Set(git('rev-list', head))]
    const only = (these: Set<string>, those: Set<string>) => [...these].filter((oid) => !those.has(oid)).length
    same(`${base}...${head}`, [body.commits_ahead, body.commits_behind], [only(ofHead, ofBase), only(ofBase, ofHead)])
    const best = git('merge-base', '--all', base, head)
    if (!best.includes(body.merge_base)) same(`merge base of ${base} and ${head}`, body.merge_base, best)
  }
  const merges = git('rev-list', '--merges', 'main').length
  console.log(
    `${name}: ${log.length} commits, ${merges} merges, main pushed in ${(took / 1000).toFixed(1)} s, tags ${tags.code === 0 ? `all ${git('tag').length}` : `${git('tag').length}, some refused`}; ` +
      `${pages} pages, ${detailsAtRandom} details, ${comparisonsAtRandom} comparisons: ${problems.length === 0 ? 'all as git has them' : `${problems.length} are not as git has them`}`,
  )
  for (const problem of [...problems, ...(tags.code === 0 ? [] : tags.text.split('\n').slice(0, 8))].slice(0, 20))
    console.log(`  ${problem}`)
  return problems.length
}

function oneOf<T>(list: readonly T[]): T {
  return list[Math.floor(chance() * list.length)] as T // never of an empty list
}

interface Entity {
  readonly entity_key: string
  readonly object_id: string
  readonly old_object_id?: string | null
}

interface Changes {
  readonly added: readonly Entity[]
  readonly removed: readonly Entity[]
  readonly modified: readonly Entity[]
}

/** `A <oid> <path>` and the like, in order. */
function listed({ added, removed, modified }: Changes): string[] {
  return [
    ...added.map((one) => `A ${one.object_id} ${one.entity_key}`),
    ...removed.map((one) => `D ${one.object_id} ${one.entity_key}`),
    ...modified.map((one) => `M ${one.old_object_id} ${one.object_id} ${one.entity_key}`),
  ].sort()
}

/** A line of `git diff-tree --raw` in the same words. */
function asListed(line: string): string {
  const [, from = '', to = '', status = '', path = ''] = /^:\d+ \d+ (\w+) (\w+) (\w)\t(.*)$/.exec(line) ?? []
  if (status === 'A') return `A ${to} ${path}`
  return status === 'D' ? `D ${from} ${path}` : `M ${from} ${to} ${path}`
}
