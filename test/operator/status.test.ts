/** The state of the service, as an administrator reads it. */

import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { expect } from 'chai'
import { updateAccount } from '../../server/domain/accounts/administration.ts'
import { operator } from '../../server/domain/actor.ts'
import { checksOf, type Facts } from '../../server/domain/operator/checks.ts'
import { samplesIn } from '../../server/domain/operator/samples.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { parseScrape } from '../support/scrapes.ts'
import { until } from '../support/until.ts'

const statusOf = async (who: PersonClient) => (await who.get('/admin/status').then(expecting(200))).body

async function startWithAdministrator(options = {}): Promise<{ grove: Grove; ada: PersonClient }> {
  const grove = await startGrove(options)
  const ada = await signUp(grove, 'Ada')
  await updateAccount(
    { ...grove.deps, actor: operator },
    { path: { account_id: ada.user.id }, body: { is_admin: true } },
  )
  return { grove, ada }
}

describe('the state of the service', () => {
  it('has versions, checks, sizes and counts, and neither secrets nor paths', async () => {
    const { grove, ada } = await startWithAdministrator()
    const [bob, cid] = [await signUp(grove, 'Bob'), await signUp(grove, 'Cid')]
    await ada.patch(`/admin/accounts/${cid.user.id}`, { disabled: true }).then(expecting(200))
    await newNode(grove, bob)
    await newNode(grove, bob)
    await until(async () => (await statusOf(ada)).jobs.some(({ name }: { name: string }) => name === 'index'))
    const status = await statusOf(ada)
    expect(status.node_version).to.equal(process.version)
    expect(status.version).to.match(/^\d+\.\d+\.\d+/)
    expect(status.git_version).to.match(/^2\.\d+/)
    expect(status).to.not.have.property('cell')
    const parts = status.checks.map(({ name, ok }: { name: string; ok: boolean }) => [name, ok])
    expect(parts.filter(([name]: [string]) => name !== 'storage')).to.deep.equal([
      ['accounts', true],
      ['index', true],
      ['repositories', true],
      ['jobs', true],
      ['webhooks', true],
    ])
    expect(parts.map(([name]: [string]) => name)).to.include('storage')
    expect(status.processes).to.have.length(1)
    expect(status.processes[0].memory_bytes).to.be.above(1_000_000)
    expect(status.started_at).to.equal(status.processes[0].started_at)
    expect(status.storage.free_bytes + status.storage.used_bytes).to.be.above(0)
    const { sessions, ...counts } = status.counts
    expect(counts).to.deep.equal({ accounts: 3, disabled_accounts: 1, administrators: 1, orgs: 3, nodes: 2 })
    expect(sessions, 'the disabled one has none').to.equal(2)
    expect(status.requests.total).to.be.above(5)
    expect(status.requests.failed).to.equal(0)
    const text = JSON.stringify(status)
    for (const secret of [grove.dataDir, ada.session.accessToken, 'example.org', process.cwd()])
      expect(text).to.not.contain(secret)
    await grove.close()
  })

  it('counts the requests that failed', async () => {
    const { grove, ada } = await startWithAdministrator({ logLevel: 'error' })
    const node = await newNode(grove, ada)
    expect((await statusOf(ada)).requests.failed).to.equal(0)
    await writeFile(`${grove.dataDir}/${node.org}/${node.id}.git/packed-refs`, 'no refs\n')
    const { status } = await ada.get(`/orgs/${node.org}/nodes/${node.id}/tree/main`)
    expect(status).to.be.at.least(500)
    await until(async () => (await statusOf(ada)).requests.failed === 1)
    await grove.close()
  })

  it('is for administrators only, and ends with their right', async () => {
    const { grove, ada } = await startWithAdministrator()
    const bob = await signUp(grove, `Bob ${randomUUID()}`)
    expect((await bob.get('/admin/status')).status).to.equal(403)
    expect((await client(grove).get('/admin/status')).status).to.equal(401)
    await updateAccount(
      { ...grove.deps, actor: operator },
      { path: { account_id: ada.user.id }, body: { is_admin: false } },
    )
    expect((await ada.get('/admin/status')).status).to.equal(403)
    await grove.close()
  })
})

describe('the checks of the service', () => {
  const startedAt = '2026-01-01T00:00:00.000Z'
  const now = new Date('2026-01-01T02:00:00Z')
  const seconds = now.getTime() / 1_000
  const sample = (name: string, value: number, labels: Record<string, string> = {}) => ({ name, labels, value })
  const swept = sample('grove_sweep_last_success_timestamp_seconds', seconds - 60, { chore: 'index' })
  const healthy = [
    sample('grove_storage_free_bytes', 50),
    sample('grove_storage_used_bytes', 50),
    sample('grove_index_behind_nodes', 0),
    sample('grove_repositories_unreadable', 0),
    sample('grove_repositories_suspect', 0),
    swept,
  ]
  const facts = { samples: healthy, now, startedAt, isAccountsRead: true, isIndexRead: true, isWhole: true }
  const failing = (change: Partial<Facts>) =>
    checksOf({ ...facts, ...change })
      .filter(({ ok }) => !ok)
      .map(({ name }) => name)
  const withSample = (name: string, value: number, labels: Record<string, string> = {}) => ({
    samples: [...healthy.filter((one) => one.name !== name), sample(name, value, labels)],
  })
  const without = (name: string) => ({ samples: healthy.filter((one) => one.name !== name) })

  it('find nothing wrong with a healthy service', () => {
    expect(failing({})).to.deep.equal([])
  })

  const tenth = [
    ...healthy.filter(({ name }) => !name.startsWith('grove_storage')),
    sample('grove_storage_free_bytes', 10),
    sample('grove_storage_used_bytes', 90),
  ]
  const rows: readonly [string, Partial<Facts>, readonly string[]][] = [
    ['accounts that cannot be read', { isAccountsRead: false }, ['accounts']],
    ['an index that cannot be read', { isIndexRead: false }, ['index']],
    ['an index that is being rebuilt', { isWhole: false }, ['index']],
    ['webhooks whose secrets are lost', withSample('grove_webhook_secrets_lost', 2), ['webhooks']],
    ['a damaged repository', withSample('grove_repositories_unreadable', 1), ['repositories']],
    ['a read-only repository', withSample('grove_repositories_suspect', 1), ['repositories']],
    ['a node behind its refs', withSample('grove_index_behind_nodes', 1), ['repositories']],
    ['9 % free', withSample('grove_storage_free_bytes', 4), ['storage']],
    ['10 % free', { samples: tenth }, []],
    ['free space that is unknown', without('grove_storage_free_bytes'), ['storage']],
    ['no process with jobs', without('grove_index_behind_nodes'), ['jobs']],
    ['no process at all', { samples: [], startedAt: undefined }, ['storage', 'jobs']],
    ['a first sweep of two hours', without(swept.name), ['jobs']],
    ['a first sweep of half an hour', { ...without(swept.name), startedAt: '2026-01-01T01:30:00.000Z' }, []],
    ['a sweep eleven minutes ago', withSample(swept.name, seconds - 660, { chore: 'index' }), ['jobs']],
    ['a cell with its lease', withSample('grove_cell_lease_seconds', 9, { cell: 'a' }), []],
    ['a cell without its lease', withSample('grove_cell_lease_seconds', -1, { cell: 'a' }), ['cell']],
  ]
  for (const [what, change, names] of rows)
    it(`judge ${what} ${names.length === 0 ? 'fine' : `wrong: ${names.join(', ')}`}`, () => {
      expect(failing(change)).to.deep.equal(names)
    })

  it('allow a sweep that takes long to be late', () => {
    const late = withSample(swept.name, seconds - 660, { chore: 'index' })
    const lasted = sample('grove_sweep_duration_seconds', 10, { chore: 'index' })
    expect(failing({ samples: [...late.samples, lasted] })).to.deep.equal([])
  })

  it('mention storage faults, which may be over', () => {
    const { samples } = withSample('grove_storage_faults_total', 3, { kind: 'full' })
    const storage = checksOf({ ...facts, samples }).find(({ name }) => name === 'storage')
    expect(storage).to.deep.include({ ok: true })
    expect(storage?.detail).to.match(/since the start: 3$/)
  })

  it('read every sample that a scraper reads', async () => {
    const grove = await startGrove({ metricsToken: 'a' })
    const { body } = await client(grove, 'a').get('/metrics').then(expecting(200))
    const series = [...parseScrape(body).values()].flat()
    const names = new Set(series.map(({ labels }) => labels.series ?? ''))
    const found = samplesIn(body, names)
    expect(found.map(({ name, labels, value }) => ({ labels: { ...labels, series: name }, value }))).to.deep.equal(
      series,
    )
    await grove.close()
  })
})
