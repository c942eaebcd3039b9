import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import fc from 'fast-check'
import { expectSound, git, gitDid, newDataDir } from '../support/data-folder.ts'
import { everythingIn } from '../support/everything.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'

const words = ['sea', 'whale', 'krill', 'song', 'ice', 'plankton', 'deep', 'the', 'migrate', 'calf']
const branchNames = ['draft', 'deep/er', 'other'] as const
const queries = ['whale song', 'krill of the deep ice', 'migrating calfs']
const mostNodes = 4
/** Steps that need a history to make sense happen to the first node of an organisation. */
const onFirst = /^(branch|propose|open|edit|merge|update|unbranch|hand\w+)$/

/** The action of one step. The numbers choose among what exists then. */
const operation = fc.record({
  kind: fc.constantFrom(
    ...(['create', 'create', 'patch', 'patch', 'remove', 'parent', 'parent', 'orphan'] as const),
    ...(['connect', 'connect', 'connect', 'reconnect', 'disconnect', 'member', 'org', 'branch'] as const),
    ...(['commit', 'commit', 'commit', 'propose', 'propose', 'propose', 'propose', 'propose', 'open', 'open'] as const),
    ...(['edit', 'edit', 'edit', 'merge', 'merge', 'merge', 'update', 'update', 'unbranch'] as const),
    ...(['handCommit', 'handCommit', 'handMove', 'handRewind', 'handDelete', 'handTag'] as const),
  ),
  org: fc.nat(),
  node: fc.nat(),
  other: fc.nat(),
  way: fc.nat(),
  text: fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 8 }).map((all) => all.join(' ')),
})

type Operation = typeof operation extends fc.Arbitrary<infer O> ? O : never

describe('the index', () => {
  for (const seed of [1, 2]) {
    it(`answers as before, byte for byte, rebuilt next to a service and before the next (seed ${seed})`, () =>
      fc.assert(
        fc.asyncProperty(fc.noBias(fc.array(operation, { minLength: 60, maxLength: 60 })), sameAfterRebuilding),
        {
          seed,
          numRuns: 1,
          endOnFailure: true,
        },
      ))
  }
})

async function sameAfterRebuilding(operations: readonly Operation[]): Promise<void> {
  const dataDir = await newDataDir()
  let grove: Grove | undefined = await startGrove({ dataDir })
  try {
    const ann = await signUp(grove, 'Ann')
    const bob = await signUp(grove, 'Bob')
    const second = (await ann.post('/orgs', { name: 'Second' })).body.id
    const world: World = { ann, bob, orgs: [ann.org, second], dataDir }
    for (const one of operations) refuseFaults(one, await perform(world, one))

    const everything = ({ url }: { url: string }) => everythingIn({ url }, ann.session.accessToken, world.orgs, queries)
    // Whatever was moved by hand is noticed when its node is read, which lists and searches do not.
    await everything(grove)
    const before = await everything(grove)

    await reindex(dataDir)
    expect(await everything(grove)).to.deep.equal(before)

    const late = { title: 'Late whale', text_content: 'A song after the rebuild', tags: ['sea'] }
    expect((await ann.post(`/orgs/${ann.org}/nodes`, late)).status).to.equal(201)
    const after = await everything(grove)

    await grove.close()
    for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
    grove = await startGrove({ dataDir })
    expect(await everything(grove)).to.deep.equal(after)
    await expectSound(dataDir)
  } finally {
    await grove?.close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Beside the service, which has read an index with other versions. */
async function reindex(dataDir: string): Promise<void> {
  const env = { ...process.env, DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['dist/cli.js', 'reindex'], { env })
  expect(stdout).to.match(/^\d+ organisations and \d+ nodes indexed\n$/)
  expect(stderr).to.not.match(/"level":/)
}

function refuseFaults(operation: Operation, answers: readonly Answer[]): void {
  for (const { status, body } of answers) {
    if (status >= 500) throw new Error(`${JSON.stringify(operation)} answered ${status} ${JSON.stringify(body)}`)
  }
}

interface World {
  readonly ann: PersonClient
  readonly bob: PersonClient
  readonly orgs: readonly [string, string]
  readonly dataDir: string
}

/** Returns the answers of the service. A step that makes no sense then has none. */
async function perform({ ann, bob, orgs, dataDir }: World, operation: Operation): Promise<Answer[]> {
  const { way, other, text } = operation
  const orgId = pick(orgs, operation.org) ?? ''
  const org = `/orgs/${orgId}`
  const nodes: { id: string }[] = (await ann.get(`${org}/nodes?limit=200`)).body.nodes
  const id = onFirst.test(operation.kind) ? nodes[0]?.id : pick(nodes, operation.node)?.id
  const others = nodes.map((node) => node.id).filter((one) => one !== id)
  const otherId = pick(others, other)

  if (id === undefined || otherId === undefined || (operation.kind === 'create' && nodes.length < mostNodes)) {
    const parents = way % 2 === 0 ? others.slice(0, 1) : []
    const content = way % 12 === 1 ? { initialize: false } : { text_content: `${text} ${way % 5}`, parents }
    return [await ann.post(`${org}/nodes`, { title: text, tags: tagsOf(text), ...content })]
  }
  const at = `${org}/nodes/${id}`
  const read = async (path: string) => (await ann.get(at + path)).body
  const branches: string[] = (await read('/branches')).branches.map(({ name }: { name: string }) => name)
  const sources = branches.filter((name) => name !== 'main')
  const branch = pick(branches, other) ?? 'main'
  const pull = async (status: string): Promise<string> => {
    const { pull_requests } = await read(`/pull-requests?status=${status}`)
    return `${at}/pull-requests/${pick<{ number: number }>(pull_requests, way)?.number ?? 1}`
  }
  const commit = (to: string): Promise<Answer> => {
    const path = pick(['content.md', 'a/file.txt', 'README.md', `parents/${otherId}.json`], other) ?? ''
    const content = path.endsWith('json') ? '{}' : `${text} ${way % 5}`
    const change = other % 9 === 0 ? { action: 'delete', path } : { action: 'put', path, content }
    return ann.post(`${at}/tree/${encodeURIComponent(to)}/commits`, { message: text, changes: [change] })
  }
  const connection = async () => pick<{ id: string }>((await read('')).connections, way)?.id ?? 'none'

  switch (operation.kind) {
    case 'create':
    case 'patch': {
      const patches = [{ title: text }, { text_content: text }, { tags: tagsOf(text) }, { properties: { way } }]
      return [await ann.patch(at, pick(patches, way))]
    }
    case 'remove':
      return nodes.length === mostNodes ? [await ann.delete(at)] : []
    case 'parent':
      return [await ann.put(`${at}/parents/${otherId}`, { label: text })]
    case 'orphan':
      return [await ann.delete(`${at}/parents/${pick<{ id: string }>((await read('')).parents, way)?.id}`)]
    case 'connect':
      return [await ann.post(`${at}/connections`, { target: otherId, type: pick(['is_a', 'related_to'], way) })]
    case 'reconnect':
      return [await ann.patch(`${at}/connections/${await connection()}`, { target: otherId, label: text })]
    case 'disconnect':
      return [await ann.delete(`${at}/connections/${await connection()}`)]
    case 'branch':
      return [await ann.post(`${at}/branches`, { name: pick(branchNames, way), from: branch })]
    case 'commit':
      return [await commit(branch)]
    case 'propose': {
      const name = pick(branchNames, way) ?? 'draft'
      return [
        await ann.post(`${at}/branches`, { name }),
        await commit(name),
        await ann.post(`${at}/pull-requests`, { source_branch: name, title: text }),
      ]
    }
    case 'open': {
      const [source_branch, target_branch] = [pick(sources, way) ?? 'main', way % 3 === 0 ? branch : 'main']
      const isDraft = way % 5 === 0 ? { is_draft: true } : {}
      return [await ann.post(`${at}/pull-requests`, { source_branch, target_branch, title: text, ...isDraft })]
    }
    case 'edit': {
      const changes = [{ status: 'closed' }, { status: 'open' }, { target_branch: branch }, { is_draft: way % 2 === 0 }]
      return [await ann.patch(await pull('all'), pick(changes, other))]
    }
    case 'merge':
      return [await ann.post(`${await pull('open')}/merge`, {})]
    case 'update':
      return [await ann.post(`${await pull('open')}/update-branch`)]
    case 'unbranch':
      return [await ann.delete(`${at}/branches/${encodeURIComponent(branch)}`)]
    case 'member': {
      const member = `${org}/members/${bob.user.email}`
      const role = pick(['reader', 'contributor', 'editor', 'maintainer', 'owner'], other)
      return [way % 3 === 0 ? await ann.delete(member) : await ann.put(member, { role })]
    }
    case 'org':
      return [await ann.patch(org, pick([{ published: true }, { published: false }, { name: text }], way))]
    default:
      await byHand(join(dataDir, orgId, `${id}.git`), operation, branches)
      return way % 2 === 0 ? [await ann.get(at)] : []
  }
}

/** As an operator does it: without the service. */
async function byHand(repo: string, { kind, way, other, text }: Operation, branches: readonly string[]): Promise<void> {
  const [name, another] = [pick(branches, way), pick(branches, other)]
  if (name === undefined || another === undefined) return
  const ref = `refs/heads/${name}`
  if (kind === 'handCommit') {
    const commit = await git(repo, 'commit-tree', `${another}^{tree}`, '-p', name, '-m', text)
    await git(repo, 'update-ref', ref, commit)
  }
  if (kind === 'handMove') await git(repo, 'update-ref', ref, another)
  if (kind === 'handRewind') await gitDid(repo, 'update-ref', ref, `${name}~1`)
  if (kind === 'handDelete' && (name !== 'main' || way % 5 === 0)) await git(repo, 'update-ref', '-d', ref)
  if (kind === 'handTag') await gitDid(repo, 'tag', '-a', '-m', text, `v${other % 5}`, name)
  if (way % 4 === 0) await git(repo, 'pack-refs', '--all', '--prune')
}

function pick<T>(all: readonly T[], n: number): T | undefined {
  return all[n % Math.max(all.length, 1)]
}

function tagsOf(text: string): string[] {
  return text.split(' ').slice(0, 2)
}
