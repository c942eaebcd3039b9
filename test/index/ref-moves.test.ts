/** Records of moved refs in the index, compared with a model; and that all code that moves a ref writes one. */

import type Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { Kysely } from 'kysely'
import {
  countMoves,
  forgetMoves,
  listReposToMaintain,
  listStamps,
  markMaintained,
  ownRepository,
} from '../../index/derived/change-log.ts'
import { indexMigrations } from '../../index/derived/migrations.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import { migrate } from '../../index/sqlite/migrate.ts'
import { newNode } from '../support/node.ts'
import { signUp } from '../support/people.ts'
import { randomFrom } from '../support/random.ts'
import { useWorld } from '../support/world.ts'

const lookAfterS = 3_660

describe('moves of refs', () => {
  describe('in a table of their own', () => {
    let handle: Sqlite.Database
    let db: Kysely<IndexSchema>

    beforeEach(async () => {
      handle = openSqlite(':memory:')
      db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'write') })
      await db.transaction().execute((trx) => migrate(trx, indexMigrations, 'index.sqlite'))
    })
    afterEach(() => db.destroy())

    it('are counted as a model counts them, until they are looked at', async () => {
      const random = randomFrom(5)
      const model = new Map<string, { moves: number; movedAt: number; lookAt: number }>()
      const nodes = ['a', 'b', 'c', ownRepository]
      let now = 0
      for (let round = 0; round < 300; round++) {
        const node = nodes[Math.floor(random() * nodes.length)] ?? ''
        const passed = random() < 0.2 ? 1_000 : 0
        now += passed
        handle.prepare('update ref_moves set moved_at = moved_at - ?, look_at = look_at - ?').run(passed, passed)
        const times = Math.floor(random() * 30)
        const known = model.get(node)
        for (let n = 0; n < times; n++) await db.transaction().execute((trx) => countMoves(trx, 'org', [node]))
        if (times > 0) {
          const lookAt = known && known.moves > 0 ? known.lookAt : now + lookAfterS
          model.set(node, { moves: (known?.moves ?? 0) + times, movedAt: now, lookAt })
        }
        const due = (await listReposToMaintain(db, 100)).map(({ node_id }) => node_id)
        const wanted = [...model].filter(([, { moves, lookAt }]) => moves >= 50 && lookAt <= now).map(([id]) => id)
        expect(due.sort()).to.deep.equal(wanted.sort())
        for (const node_id of due) {
          await db.transaction().execute((trx) => markMaintained(trx, { org_id: 'org', node_id }))
          const one = model.get(node_id)
          if (one)
            model.set(node_id, {
              ...one,
              moves: one.movedAt + lookAfterS > now ? one.moves : 0,
              lookAt: now + lookAfterS,
            })
        }
      }
    })

    it('are found without a look at the others', () => {
      const plan = handle
        .prepare<[], { detail: string }>(
          'explain query plan select org_id from ref_moves where moves >= 50 and look_at <= unixepoch() order by look_at limit 1',
        )
        .all()
      expect(plan.map(({ detail }) => detail).join()).to.contain('ref_moves_to_look_at')
    })

    it('of 1,000 repositories at once are counted, and forgotten with their organisation', async () => {
      const nodes = Array.from({ length: 1_000 }, (_, n) => `node ${n}`)
      await db.transaction().execute((trx) => countMoves(trx, 'org', nodes))
      const stamps = await listStamps(db)
      expect(new Set(stamps.map(({ stamp }) => stamp)).size).to.equal(1_000)
      await db.transaction().execute((trx) => forgetMoves(trx, 'org', 'node 7'))
      expect(await listStamps(db)).to.have.length(999)
      await db.transaction().execute((trx) => forgetMoves(trx, 'org', ownRepository))
      expect(await listStamps(db)).to.deep.equal([])
    })
  })

  describe('through the doors', () => {
    const { grove } = useWorld({}, { sweeps: false })

    it('give their repository another stamp, reads do not, and a deletion takes it away', async () => {
      const ann = await signUp(grove, 'Ann')
      const [node, other] = [await newNode(grove, ann), await newNode(grove, ann)]
      const stampsNow = async () =>
        new Map((await listStamps(grove.deps.index.read)).map(({ node_id, stamp }) => [node_id, stamp]))
      let before = await stampsNow()
      const changedBy = async (work: () => Promise<unknown>) => {
        await work()
        const now = await stampsNow()
        const changed = [...new Set([...before.keys(), ...now.keys()])].filter((id) => before.get(id) !== now.get(id))
        before = now
        return changed
      }
      expect([...before.keys()]).to.include.members([ownRepository, node.id, other.id])
      expect(await changedBy(() => ann.get(node.at))).to.deep.equal([])
      expect(await changedBy(() => node.commit('main', { 'a.txt': 'a' }))).to.deep.equal([node.id])
      expect(await changedBy(() => node.branch('draft'))).to.deep.equal([node.id])
      await node.proposal('dolphins')
      before = await stampsNow()
      expect(await changedBy(() => node.open('dolphins'))).to.deep.equal([node.id])
      expect(await changedBy(() => ann.patch(`/orgs/${ann.org}`, { name: 'Another' }))).to.deep.equal([ownRepository])
      expect(await changedBy(() => ann.delete(other.at))).to.deep.equal([other.id])
    })
  })
})
