/** Migrations of `index.sqlite` that fill what they add. */

import { expect } from 'chai'
import { Kysely } from 'kysely'
import { listNodesWithBranch } from '../../index/derived/branches.ts'
import { indexMigrations } from '../../index/derived/migrations.ts'
import type { IndexSchema } from '../../index/derived/schema.ts'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { sqliteDialect } from '../../index/sqlite/driver.ts'
import { migrate } from '../../index/sqlite/migrate.ts'

describe('an index.sqlite of an older version', () => {
  it('finds the nodes of each organisation by their branches', async () => {
    const handle = openSqlite(':memory:')
    const db = new Kysely<IndexSchema>({ dialect: sqliteDialect(handle, 'write') })
    const older = Object.fromEntries(Object.entries(indexMigrations).filter(([name]) => name < '004'))
    await db.transaction().execute((trx) => migrate(trx, older, 'index.sqlite'))
    for (const org of ['one', 'other']) {
      handle.exec(
        `insert into org (id, name, published, require_pull_requests, created_at, updated_at, head, epoch)
           values ('${org}', '', 0, 0, '', '', '', 'e');
         insert into node (id, org_id, title, description, tags, properties, created_at, updated_at, head, ledger, version, changed)
           values ('node of ${org}', '${org}', '', '', '[]', '{}', '', '', 'm', 'l', 1, 1);
         insert into branch (node_id, name, head) values ('node of ${org}', 'main', 'm'), ('node of ${org}', 'draft', 'd')`,
      )
    }
    await db.transaction().execute((trx) => migrate(trx, indexMigrations, 'index.sqlite'))
    expect(await listNodesWithBranch(db, 'one', 'draft', '', 10)).to.deep.equal([
      { id: 'node of one', head: 'm', ledger: 'l', created_at: '', branch_head: 'd' },
    ])
    const plan = handle
      .prepare<[], { detail: string }>(
        "explain query plan select node_id from branch where org_id = 'one' and name = 'draft' and name <> 'main' and node_id > ''",
      )
      .all()
    expect(plan.map(({ detail }) => detail).join()).to.contain('branch_by_name')
    await db.destroy()
  })
})
