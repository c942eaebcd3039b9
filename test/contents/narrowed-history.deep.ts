/** History of a path, an author, a time, as git log tells it. */

import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Git } from '../support/git.ts'
import { looseFile } from '../support/git.ts'
import { expecting } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { anyHistory, anyPath, importHistory } from './random-history.ts'
import { aNode, ann, leavesCleanRepositories, useScene } from './scene.ts'

interface Narrowed {
  readonly path?: string
  readonly author?: string
  readonly since?: number
  readonly until?: number
}

function byGit(git: Git, branch: string, { path, author, since, until }: Narrowed): string[] {
  const args = [
    ...(author === undefined ? [] : ['-F', '-i', `--author=${author}`]),
    ...(since === undefined ? [] : [`--since-as-filter=@${since} +0000`]),
    ...(until === undefined ? [] : [`--until=@${until} +0000`]),
  ]
  const output = git.run(['log', '--format=%H', ...args, branch, '--', ...(path === undefined ? [] : [path])], {
    env: { GIT_LITERAL_PATHSPECS: '1' },
  })
  return output.toString().split('\n').filter(Boolean)
}

function queryOf({ path, author, since, until }: Narrowed): URLSearchParams {
  const iso = (seconds: number) => new Date(seconds * 1000).toISOString()
  return new URLSearchParams({
    ...(path === undefined ? {} : { path }),
    ...(author === undefined ? {} : { author }),
    ...(since === undefined ? {} : { since: iso(since) }),
    ...(until === undefined ? {} : { until: iso(until) }),
  })
}

const anyTime = fc.integer({ min: 1e9 - 100, max: 1e9 + 1_500 })
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const anyNarrowed = fc.record({
  path: maybe(fc.oneof(anyPath, fc.constantFrom('docs', 'docs/deep', 'nothing'))),
  author: maybe(fc.constantFrom('ann', 'EXAMPLE.ORG', 'Zoë', 'Bob <bob@', '^Ann', '.')),
  since: maybe(anyTime),
  until: maybe(anyTime),
})

describe('contents', () => {
  useScene()

  describe('a narrowed history', () => {
    it('is that of git log, whatever the clocks and the merges, page by page', async () => {
      await fc.assert(
        fc.asyncProperty(
          anyHistory(16, 700),
          fc.array(anyNarrowed, { minLength: 12, maxLength: 12 }),
          async (steps, asked) => {
            const node = await aNode()
            importHistory(node, steps, 'dev')
            for (const narrowed of asked) {
              const query = queryOf(narrowed as Narrowed)
              const expected = byGit(node.git, 'dev', narrowed as Narrowed)
              for (const offset of [0, 3]) {
                const { body } = await ann
                  .get(`${node.at}/tree/dev/commits?limit=4&offset=${offset}&${query}`)
                  .then(expecting(200))
                const shown = body.history.map(({ id }: { id: string }) => id)
                expect([shown, body.total], String(query)).to.deep.equal([
                  expected.slice(offset, offset + 4),
                  expected.length,
                ])
              }
            }
          },
        ),
        { numRuns: runs(10), endOnFailure: true },
      )
    })

    it('shows what is in the time wherever it stands, also below what is not', async () => {
      const node = await aNode()
      const { git } = node
      const at = (seconds: number, parents: string[]) =>
        git.commit({ files: { 'a.txt': `${seconds}\n` }, parents, at: seconds })
      const first = at(1_700_000_300, [])
      const last = at(1_700_000_200, [at(1_700_000_100, [first])])
      git.point('dev', last)
      for (const query of ['', '&path=a.txt']) {
        const { body } = await ann.get(`${node.at}/tree/dev/commits?since=2023-11-14T22:15:50Z${query}`)
        expect(body.history.map(({ id }: { id: string }) => id)).to.deep.equal([last, first])
      }
    })

    it('walks once a head: what follows the first page is read without any tree', async () => {
      const node = await aNode()
      for (const n of [1, 2, 3, 4, 5]) await node.commit('main', { 'a.txt': `${n}\n` }, `Number ${n}`)
      const page = (offset: number) => ann.get(`${node.at}/tree/main/commits?path=a.txt&limit=2&offset=${offset}`)
      expect((await page(0)).body.total).to.equal(5)
      const tree = node.git.say('rev-parse', 'main~1^{tree}')
      const [file, aside] = [looseFile(node.git, tree), join(node.git.dir, 'aside')]
      await rename(file, aside)
      try {
        expect((await page(2)).body.history.map(({ message }: { message: string }) => message)).to.deep.equal([
          'Number 3',
          'Number 2',
        ])
      } finally {
        await rename(aside, file)
      }
    })

    it('has a link to the next page that keeps what narrows it', async () => {
      const node = await aNode()
      for (const n of [1, 2, 3]) await node.commit('main', { 'a b.txt': `${n}\n` })
      const { headers } = await ann.get(`${node.at}/tree/main/commits?path=a%20b.txt&limit=1`)
      const next = /<(.*)>; rel="next"/.exec(headers.link ?? '')?.[1] ?? ''
      expect((await ann.get(next)).body).to.include({ total: 3, offset: 1 })
    })

    it('is read at a branch, a tag and a commit id, and of an empty main is empty', async () => {
      const node = await aNode()
      const first = await node.commit('main', { 'a.txt': '1\n' })
      await node.commit('main', { 'a.txt': '2\n' })
      node.git.say('tag', 'v1', first)
      for (const [revision, total] of [
        ['main', 2],
        ['v1', 1],
        [first, 1],
      ] as const)
        expect((await ann.get(`${node.at}/tree/${revision}/commits?path=a.txt`)).body.total, revision).to.equal(total)
      const empty = await aNode({ initialize: false })
      expect((await ann.get(`${empty.at}/tree/main/commits?path=a.txt`)).body).to.deep.include({
        total: 0,
        history: [],
      })
    })

    it('is 422 for what is no path, no time or no line', async () => {
      const { at } = await aNode()
      for (const [name, value] of [
        ...[
          ['path', '/'],
          ['path', 'a/../b'],
          ['path', ''],
        ],
        ...[
          ['since', 'yesterday'],
          ['until', '2026-01-01'],
          ['since', ''],
        ],
        ...[
          ['author', 'a\nb'],
          ['author', ''],
        ],
      ] as [string, string][]) {
        const { status, body } = await ann.get(`${at}/tree/main/commits?${new URLSearchParams({ [name]: value })}`)
        expect([status, body.detail[0].loc], `${name}=${value}`).to.deep.equal([422, ['query', name]])
      }
      expect((await ann.get(`${at}/tree/main/commits?until=1960-01-01T00:00:00Z`)).body.total).to.equal(0)
      expect((await ann.get(`${at}/tree/main/commits?since=1960-01-01T00:00:00Z`)).body.total).to.equal(1)
    })
  })

  describe('all of this', leavesCleanRepositories)
})
