/** Who imports whom, as .dependency-cruiser.cjs has it. */

import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)

/** Breaks of every rule of .dependency-cruiser.cjs: a line, and the file at whose beginning it is written. */
const violations = [
  ['no-cycle', 'server/domain/search/search-thread.ts', "import type { retrieve } from './search.ts'"],
  ['spec-imports-catalogs', 'spec/generate.ts', "import '../gitstore/names.ts'"],
  ['limits-import-nothing', 'gitstore/limits.ts', "import './names.ts'"],
  ['concurrency-stands-alone', 'gitstore/concurrency/quota.ts', "import type {} from '../repo.ts'"],
  ['caching-stands-alone', 'gitstore/caching/caches.ts', "import type {} from '../repo.ts'"],
  ['caches-have-bounds', 'server/domain/layout.ts', "import 'lru-cache'"],
  ['gitstore-speaks-git', 'gitstore/refs/refs.ts', "import '../../index/sqlite/migrate.ts'"],
  ['gitstore-has-no-http', 'gitstore/refs/refs.ts', "import type {} from 'better-sqlite3'"],
  ['index-speaks-sql', 'index/sqlite/migrate.ts', "import '../../gitstore/repo.ts'"],
  ['index-has-no-http', 'index/sqlite/migrate.ts', "import 'isomorphic-git'"],
  ['search-text-knows-no-segment', 'index/search/text/stems.ts', "import type {} from '../segments/rows.ts'"],
  ['search-segments-know-no-ranking', 'index/search/segments/rows.ts', "import type {} from '../ranking/scores.ts'"],
  ['search-ranking-knows-no-answer', 'index/search/ranking/scores.ts', "import type {} from '../answers/snippet.ts'"],
  ['search-meaning-knows-no-answer', 'index/search/meaning/gate.ts', "import type {} from '../answers/snippet.ts'"],
  ['domain-without-http', 'server/domain/layout.ts', "import 'express'"],
  ['sql-stays-in-the-index', 'server/domain/layout.ts', "import 'kysely'"],
  ['postgres-stays-in-the-index', 'server/domain/layout.ts', "import 'pg'"],
  ['kernel-knows-no-feature', 'server/domain/layout.ts', "import type {} from '../features/graph/graph.ts'"],
  ['features-know-ports', 'server/features/graph/graph.ts', "import type {} from '../inbox/marks.ts'"],
  ['feature-pages-ask-operations', 'server/features/graph/pages/graph.tsx', "import type {} from '../graph.ts'"],
  ['feature-rules-without-http', 'server/features/graph/graph.ts', "import 'express'"],
  ['feature-commands-share-a-kit', 'server/features/audit/commands/audit.ts', "import '../../../cli/signals.ts'"],
  ['base-stands-on-nothing', 'server/base/errors.ts', "import type {} from '../domain/layout.ts'"],
  ['domain-has-two-neighbours', 'server/domain/layout.ts', "import type { Config } from '../base/config.ts'"],
  ['second-reader-stands-alone', 'server/domain/operator/second-reader.ts', "import '../../../gitstore/repo.ts'"],
  ['domain-files-know-no-folder', 'server/domain/caller-semaphore.ts', "import type {} from './format/text-rules.ts'"],
  ['cells-are-behind-placement', 'server/domain/orgs/orgs.ts', "import type {} from '../cells/cell.ts'"],
  ['markdown-stands-alone', 'server/markdown/single-line.ts', "import type {} from '../domain/layout.ts'"],
  ['vault-readers-know-no-plan', 'server/features/vault/read/yaml.ts', "import type {} from '../plan/renames.ts'"],
  [
    'import-plans-alone',
    'server/features/vault/read/document.ts',
    "import type { Services } from '../../../domain/services.ts'",
  ],
  ['import-is-applied-here', 'server/features/vault/apply/known-nodes.ts', "import type {} from '../remote/items.ts'"],
  ['uploads-are-imported-here', 'server/features/vault/uploads/report.ts', "import '../remote/items.ts'"],
  [
    'export-reads-repositories',
    'server/features/vault/write/exported-files.ts',
    "import type {} from '../plan/renames.ts'",
  ],
  [
    'export-writes-a-folder',
    'server/features/vault/write/moved-files.ts',
    "import type { Services } from '../../../domain/services.ts'",
  ],
  ['remote-asks-a-service', 'server/features/vault/remote/items.ts', "import '../../../../index/sqlite/migrate.ts'"],
  ['routes-call-the-domain', 'server/routes/search.ts', "import '../../gitstore/repo.ts'"],
  ['http-stays-outside', 'server/http/responses/responses.ts', "import '../../../index/sqlite/migrate.ts'"],
  ['connections-know-no-contract', 'server/http/log/log.ts', "import type {} from '../contract/spec.ts'"],
  ['pages-ask-operations', 'server/pages/urls.ts', "import type {} from '../domain/layout.ts'"],
  ['pages-are-made-of-parts', 'server/pages/parts/dates.tsx', "import type {} from '../pages/home.tsx'"],
  ['client-runs-in-browsers', 'server/pages/client/keys.ts', "import type {} from '../cookie-auth.ts'"],
  ['pages-stay-outside', 'server/http/responses/responses.ts', "import type {} from '../../pages/urls.ts'"],
  ['tools-ask-operations', 'server/mcp/session.ts', "import type {} from '../domain/layout.ts'"],
  ['demo-asks-operations', 'server/demo/people.ts', "import type {} from '../domain/nodes/nodes.ts'"],
  ['models-have-two-doors', 'server/http/responses/responses.ts', "import type {} from '../../mcp/session.ts'"],
  ['entry-points-are-not-imported', 'server/routes/orgs.ts', "import '../process/service.ts'"],
  ['one-child-process', 'server/domain/layout.ts', "import 'node:child_process'"],
  ['ladder-format', 'server/domain/format/text-rules.ts', "import type {} from '../net/own-addresses.ts'"],
  ['ladder-net', 'server/domain/net/own-addresses.ts', "import type {} from '../ledger/ledger.ts'"],
  ['ladder-access', 'server/domain/access.ts', "import type {} from './indexing/logs.ts'"],
  ['ladder-embeddings', 'server/domain/embeddings/texts.ts', "import type {} from '../ledger/ledger.ts'"],
  ['ladder-types', 'server/domain/types/patterns.ts', "import type {} from '../ledger/ledger.ts'"],
  ['ladder-ledger', 'server/domain/ledger/pull-ledger.ts', "import type {} from '../indexing/logs.ts'"],
  ['ladder-event-log', 'server/domain/event-log/wake.ts', "import type {} from '../indexing/logs.ts'"],
  ['ladder-indexing', 'server/domain/indexing/logs.ts', "import type {} from '../mail/limits.ts'"],
  ['ladder-mail', 'server/domain/mail/outbox.ts', "import type {} from '../accounts/tokens.ts'"],
  ['ladder-events', 'server/domain/events/types.ts', "import type {} from '../branches/media-types.ts'"],
  ['ladder-audit', 'server/domain/audit/audit.ts', "import type {} from '../branches/media-types.ts'"],
  ['ladder-consent', 'server/domain/consent/same-change.ts', "import type {} from '../branches/media-types.ts'"],
  ['ladder-branches', 'server/domain/branches/media-types.ts', "import type {} from '../nodes/nodes.ts'"],
  ['ladder-anchors', 'server/domain/anchors/file-pair.ts', "import type {} from '../pulls/pulls.ts'"],
  ['ladder-nodes', 'server/domain/nodes/taken-ids.ts', "import type {} from '../pulls/pulls.ts'"],
  ['ladder-pulls', 'server/domain/pulls/pull-state.ts', "import type {} from '../orgs/members.ts'"],
  ['ladder-orgs', 'server/domain/orgs/members.ts', "import type {} from '../pulls/pulls.ts'"],
  ['ladder-review', 'server/domain/review/mentions.ts', "import type {} from '../search/search.ts'"],
  ['ladder-search', 'server/domain/search/search.ts', "import type {} from '../accounts/user-view.ts'"],
  ['ladder-accounts', 'server/domain/accounts/user-view.ts', "import type {} from '../pushes/receive-push.ts'"],
  ['ladder-oauth', 'server/domain/oauth/scopes.ts', "import type {} from '../pushes/receive-push.ts'"],
  ['ladder-pushes', 'server/domain/pushes/receive-push.ts', "import type {} from '../background/repair.ts'"],
  ['ladder-cells', 'server/domain/cells/place-changes.ts', "import type {} from '../background/repair.ts'"],
  ['ladder-background', 'server/domain/background/repair.ts', "import type {} from '../operator/trash.ts'"],
  ['ladder-operator', 'server/domain/operator/trash.ts', "import type {} from '../background/sweep.ts'"],
] as const

describe('the layers', () => {
  let checkout: string

  before(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'grove-layers-'))
    for (const name of [
      'server',
      'gitstore',
      'index',
      'spec',
      'tsconfig.json',
      'package.json',
      '.dependency-cruiser.cjs',
    ]) {
      await cp(name, join(checkout, name), { recursive: true })
    }
    await symlink(resolve('node_modules'), join(checkout, 'node_modules'))
  })
  after(() => rm(checkout, { recursive: true, force: true }))

  it('hold', async () => {
    const { failed, said } = await cruise(checkout)
    expect(failed, said).to.equal(false)
    const modules = Number(/\((\d+) modules/.exec(said)?.[1])
    expect(modules, 'modules that were looked at').to.be.above(100)
  })

  it('have a violation here for each rule', () => {
    const { forbidden } = createRequire(import.meta.url)('../.dependency-cruiser.cjs')
    expect(violations.map(([rule]) => rule)).to.deep.equal(forbidden.map(({ name }: { name: string }) => name))
  })

  it('do not hold with one forbidden import of each kind, and each is named', async () => {
    for (const [, file, line] of violations) {
      const path = join(checkout, file)
      await writeFile(path, `${line}\n${await readFile(path, 'utf8')}`)
    }
    const { failed, said } = await cruise(checkout)
    expect(failed).to.equal(true)
    for (const [rule, file] of violations) expect(said).to.match(new RegExp(`error ${rule}: ${file} `))
  })
})

async function cruise(cwd: string): Promise<{ failed: boolean; said: string }> {
  const arguments_ = [
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    '--config',
    '.dependency-cruiser.cjs',
  ]
  try {
    const { stdout } = await run(process.execPath, [...arguments_, 'server', 'gitstore', 'index', 'spec'], { cwd })
    return { failed: false, said: stdout }
  } catch (error) {
    if (error instanceof Error && 'stdout' in error) return { failed: true, said: String(error.stdout) }
    throw error
  }
}
