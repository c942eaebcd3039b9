/** `GET /metrics`: who may read it, and what a small session leaves in it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readConfig } from '../../server/base/config.ts'
import { grove as runBackup } from '../support/command.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client } from '../support/people.ts'
import { metricsToken, parseScrape, type Scrape, sumOf } from '../support/scrapes.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'
import { documentedMetrics } from './documented.ts'

describe('GET /metrics', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { metricsToken, rateLimit: true })
  let node: TestNode
  let desk: Desk

  const scrape = async (): Promise<Scrape> =>
    parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)

  before(async () => {
    node = await newNode(grove, ann)
    desk = await newDesk()
    await desk.done('git config --global http.extraHeader "Authorization: Bearer $TOKEN"', {
      TOKEN: ann.session.accessToken,
    })
  })
  after(() => desk.remove())

  it('is 404 where METRICS_TOKEN is not set, whatever is sent', async () => {
    const other = await startGrove()
    for (const token of [undefined, metricsToken, 'undefined'])
      expect((await client(other, token).get('/metrics')).body.code).to.equal('not_found')
    await other.close()
  })

  it('has the time of the last backup without problems', async () => {
    const name = 'grove_backup_last_success_timestamp_seconds'
    expect(sumOf(await scrape(), name)).to.equal(0)
    const target = await mkdtemp(join(tmpdir(), 'grove-backup-'))
    const before = Math.floor(Date.now() / 1_000)
    expect((await runBackup(grove.dataDir, 'backup', target)).code).to.equal(0)
    expect(sumOf(await scrape(), name)).to.be.at.least(before)
    await rm(target, { recursive: true })
  })

  it('is 401 without the token, and with the token of an account', async () => {
    const { body } = await ann.post('/auth/tokens', { name: 'All', access: 'write' })
    const tokens = [undefined, '', `${metricsToken}x`, metricsToken.slice(1), ann.session.accessToken, body.token]
    for (const token of tokens) {
      const { status, headers } = await client(grove, token).get('/metrics')
      expect([status, headers['www-authenticate']?.slice(0, 6)], String(token)).to.deep.equal([401, 'Bearer'])
    }
  })

  it('takes its token from a file too, and not from both', async () => {
    const file = join(grove.dataDir, 'secret')
    await writeFile(file, `${metricsToken}\n`)
    expect(readConfig({ METRICS_TOKEN_FILE: file }).metricsToken).to.equal(metricsToken)
    expect(() => readConfig({ METRICS_TOKEN_FILE: file, METRICS_TOKEN: metricsToken })).to.throw(/only one of them/)
    expect(() => readConfig({ METRICS_TOKEN_FILE: `${file}.gone` })).to.throw(/^METRICS_TOKEN_FILE: ENOENT/)
    await writeFile(file, 'too short\n')
    expect(() => readConfig({ METRICS_TOKEN_FILE: file })).to.throw(/^METRICS_TOKEN: must have at least 16/)
  })

  describe('after a session', () => {
    let earlier: Scrape
    let later: Scrape
    const grown = (name: string, labels: Readonly<Record<string, string>> = {}) =>
      sumOf(later, name, labels) - sumOf(earlier, name, labels)

    before(async () => {
      earlier = await scrape()
      const anyone = client(grove)
      await ann.get(node.at)
      await ann.get(`/orgs/${ann.org}/nodes/none`)
      await anyone.post('/auth/login', { email: ann.user.email, password: 'wrong horse battery' })
      await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'whales', expansion_depth: 'deep' })
      await ann.patch(`/orgs/${ann.org}`, { published: true })
      await anyone.get(`/public/orgs/${ann.org}/graph`).then(expecting(200))
      await desk.done(
        `git clone -q $URL whales; cd whales; echo more >> content.md; git add .; git commit -q -m More; git push -q
         git switch -q -c broken; printf '{' > node.json; git commit -q -a -m Broken; ! git push -q origin broken`,
        { URL: `${grove.url}/git/${node.org}/${node.id}.git` },
      )
      await until(async () => {
        later = await scrape()
        return (
          grown('grove_git_transport_duration_seconds', { series: 'grove_git_transport_duration_seconds_count' }) >= 3
        )
      })
    })

    it('has every metric that is documented, and documents every metric that it has', async () => {
      const names = [...later.keys()].filter((name) => name.startsWith('grove_')).sort()
      expect(names).to.deep.equal((await documentedMetrics()).sort())
      expect([...later.keys()]).to.include.members(['nodejs_eventloop_lag_p99_seconds', 'process_open_fds'])
    })

    it('has counted the requests by operation and status', () => {
      expect(grown('grove_http_requests_total', { operation: 'getNode', status: '200' })).to.equal(1)
      expect(grown('grove_http_requests_total', { operation: 'getNode', status: '404' })).to.equal(1)
      expect(grown('grove_http_requests_total', { operation: 'logIn', status: '401' })).to.equal(1)
      const count = { operation: 'getNode', series: 'grove_http_request_duration_seconds_count' }
      expect(grown('grove_http_request_duration_seconds', count)).to.equal(2)
      expect(sumOf(later, 'grove_http_requests_in_flight')).to.equal(1)
      expect(grown('grove_sign_ins_total', { outcome: 'wrong' })).to.equal(1)
      expect(sumOf(later, 'grove_sessions_active')).to.equal(1)
    })

    it('has counted what git carried, by service and outcome', () => {
      const count = (service: string, outcome: string) =>
        grown('grove_git_transport_duration_seconds', {
          service,
          outcome,
          series: 'grove_git_transport_duration_seconds_count',
        })
      expect(count('git-upload-pack', 'completed')).to.be.at.least(1)
      expect(count('git-receive-pack', 'completed')).to.equal(1)
      expect(count('git-receive-pack', 'refused')).to.equal(1)
      for (const direction of ['in', 'out'])
        for (const service of ['git-upload-pack', 'git-receive-pack'])
          expect(grown('grove_git_transport_bytes_total', { service, direction })).to.be.greaterThan(100)
    })

    it('has timed the phases of ref transactions and what followed them', () => {
      expect(grown('grove_ref_transactions_total', { outcome: 'moved' })).to.be.at.least(2)
      for (const phase of ['lock', 'decide', 'save', 'commit', 'sync'])
        expect(
          grown('grove_ref_transaction_phase_seconds', { phase, series: 'grove_ref_transaction_phase_seconds_count' }),
          phase,
        ).to.be.at.least(1)
      for (const kind of ['node', 'org'])
        expect(
          grown('grove_index_follow_seconds', { kind, series: 'grove_index_follow_seconds_count' }),
        ).to.be.at.least(1)
      for (const database of ['credentials', 'index'])
        expect(sumOf(later, 'grove_database_bytes', { database, file: 'main' })).to.be.greaterThan(4_000)
      expect(
        grown('grove_database_wait_seconds', { database: 'index', series: 'grove_database_wait_seconds_count' }),
      ).to.be.at.least(2)
    })

    it('has timed the search and the graph', () => {
      const search = { expansion: 'deep', series: 'grove_search_duration_seconds_count' }
      expect(grown('grove_search_duration_seconds', search)).to.equal(1)
      expect(grown('grove_search_builds_total')).to.equal(1)
      expect(sumOf(later, 'grove_search_index_documents')).to.equal(1)
      expect(sumOf(later, 'grove_search_index_bytes')).to.be.greaterThan(0)
      expect(grown('grove_graph_draw_seconds', { series: 'grove_graph_draw_seconds_count' })).to.equal(1)
    })

    it('tells the versions, the room on the disk and when the background jobs ended well', async () => {
      const [build] = later.get('grove_build_info') ?? []
      expect(build?.labels).to.include({ node: process.version, worker: '1' })
      expect(build?.labels.git).to.match(/^\d+\.\d+/)
      expect(build?.labels.commit).to.match(/^([0-9a-f]{12}(-dirty)?)?$/)
      expect(sumOf(later, 'grove_storage_free_bytes')).to.be.greaterThan(0)
      expect(sumOf(later, 'grove_storage_used_bytes')).to.be.greaterThan(0)
      await until(
        async () => sumOf(await scrape(), 'grove_sweep_last_success_timestamp_seconds', { chore: 'index' }) > 0,
      )
      expect(sumOf(await scrape(), 'grove_index_behind_nodes')).to.equal(0)
    })

    it('has no id, address or name in a label', () => {
      const values = [...later.values()].flat().flatMap(({ labels: { commit: _, ...others } }) => Object.values(others))
      for (const value of values) expect(value).to.not.match(/[0-9a-f]{8}-|@|whales|Ann/)
    })
  })

  it('counts a request that a rate limit refused', async () => {
    const wrong = { email: 'nobody@example.org', password: 'wrong horse battery' }
    await until(async () => (await client(grove).post('/auth/login', wrong)).status === 429)
    const later = await scrape()
    expect(sumOf(later, 'grove_rate_limited_total', { limit: 'sign-in' })).to.equal(1)
    expect(sumOf(later, 'grove_sign_ins_total', { outcome: 'limited' })).to.equal(1)
  })
})
