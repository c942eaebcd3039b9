/** How SQLite reads: what is asked about some nodes never reads all nodes of their organisation. */

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { expecting } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

describe('a statement on some nodes', () => {
  const ids: string[] = []
  /** The prototype with which every database of this process prepares statements. */
  const databases: Sqlite.Database = Object.getPrototypeOf(openSqlite(':memory:'))
  const { prepare } = databases
  const seen = new Set<string>()

  after(() => {
    databases.prepare = prepare
  })
  const { grove, ann } = useWorld({ ann: 'owner' }, async () => {
    databases.prepare = function (this: Sqlite.Database, source: string) {
      seen.add(source)
      return prepare.call(this, source)
    } as typeof prepare
    return {}
  })
  before(async () => {
    const parent = randomUUID()
    const children = Array.from({ length: 60 }, () => ({
      id: randomUUID(),
      title: 'Child',
      tags: ['sea'],
      parents: [parent],
    }))
    const nodes = [{ id: parent, title: 'Parent' }, ...children]
    await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes }).then(expecting(201))
    ids.push(...nodes.map(({ id }) => id))
  })

  /** The steps, as SQLite tells them, by which the statements of `ask` read all nodes of an organisation or of all. */
  const wideStepsOf = async (ask: () => Promise<unknown>) => {
    seen.clear()
    await ask()
    const db = openSqlite(join(grove.dataDir, 'index.sqlite'), { readonly: true })
    const reads = [...seen].filter((source) => /\bnode\b/.test(source) && /^\s*(select|with)\b/.test(source))
    const wide = reads.flatMap((source) => {
      const values = Array.from(source.matchAll(/\?/g), () => '[]')
      const explained: Sqlite.Statement<unknown[]> = prepare.call(db, `explain query plan ${source}`)
      const steps = explained.all(...values) as { detail: string }[] // SQLite's columns
      return steps.filter(({ detail }) => isWide.test(detail)).map(({ detail }) => `${detail} in ${source}`)
    })
    db.close()
    expect(reads, 'statements on nodes').to.not.deep.equal([])
    return wide
  }
  /** Not by the id or the title of a node, nor a slice of all that is read once for each version. */
  const isWide = /^(SEARCH|SCAN) (node|parent|child|from|to)\b(?! VIRTUAL)(?!.*(\bid=|<expr>=|[<>]\())/
  const at = () => `/orgs/${ann.org}`

  it('counts the children of a level', async () => {
    const ask = () => ann.get(`${at()}/tree?under=${ids[0]}&limit=200`).then(expecting(200))
    expect(await wideStepsOf(ask)).to.deep.equal([])
  })

  it('reads a page of changes from where the last one ended', async () => {
    const { body } = await ann.get(`${at()}/changes?limit=5`).then(expecting(200))
    const { changes } = body
    const after = `${changes[4].updated_at}~${'0'.repeat(36)}`
    const ask = async () => {
      for (const query of ['', `&after=${after}`])
        await ann.get(`${at()}/changes?limit=5&before=${body.next}${query}`).then(expecting(200))
    }
    expect(await wideStepsOf(ask)).to.deep.equal([])
  })

  it('counts the connections of a node', async () => {
    const ask = () => ann.get(`${at()}/nodes/${ids[0]}`).then(expecting(200))
    expect(await wideStepsOf(ask)).to.deep.equal([])
  })

  it('lists the children of a node', async () => {
    const ask = async () => {
      const { body } = await ann.get(`${at()}/nodes?parent_id=${ids[0]}&limit=1`).then(expecting(200))
      expect(body.total).to.equal(60)
      expect((await ann.get(`${at()}/nodes?parent_id=${ids[0]}&tag=sea`).then(expecting(200))).body.total).to.equal(60)
    }
    expect(await wideStepsOf(ask)).to.deep.equal([])
  })

  it('names the nodes at the ends of the edges that a proposal adds, those above it, and those that links lead to', async () => {
    const [, child, ...others] = ids
    const node = `${at()}/nodes/${others[0]}`
    const changes = [
      { action: 'put', path: 'content.md', content: '[[None]]\n' },
      { action: 'put', path: `parents/${child}.json`, content: '{}' },
      ...others.slice(1).map((target, n) => {
        return { action: 'put', path: `connections/c${n}.json`, content: JSON.stringify({ target }) }
      }),
    ]
    await ann.post(`${node}/branches`, { name: 'edges' }).then(expecting(201))
    await ann.post(`${node}/tree/edges/commits`, { message: 'Edges', changes }).then(expecting(201))
    await ann.post(`${node}/pull-requests`, { source_branch: 'edges', title: 'Edges' }).then(expecting(201))
    const ask = async () => {
      const { body } = await ann.get(`${node}/pull-requests/1/impact`).then(expecting(200))
      expect(body.ancestors.gained.map(({ node_id }: { node_id: string }) => node_id)).to.deep.equal([child])
      expect(body.edges_added).to.have.length(others.length)
      await ann.get(`${node}/links?revision=edges`).then(expecting(200))
    }
    expect(await wideStepsOf(ask)).to.deep.equal([])
  })
})
