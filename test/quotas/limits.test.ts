/** Limits that administrators set for one organisation. */
import { expect } from 'chai'
import { purge } from '../../server/domain/operator/trash.ts'
import { visitOf } from '../pages/forms.ts'
import { expecting } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { client, type PersonClient } from '../support/people.ts'
import { metricsToken, parseScrape, sumOf } from '../support/scrapes.ts'
import { chance } from '../support/seed.ts'
import { useWorld } from '../support/world.ts'
import { countedBytes } from './disk.ts'

describe('the limits of one organisation', () => {
  const { grove, ann, root, newUser } = useWorld(
    { root: 'administrator', ann: 'owner' },
    { quotaBytes: 20_000, quotaNodes: 3, metricsToken, logLevel: 'warn' },
  )

  const set = (org: string, limits: object, who: PersonClient = root) => who.patch(`/admin/orgs/${org}`, limits)
  const noise = (bytes: number) => Array.from({ length: bytes }, () => chance().toString(36)[3] ?? 'x').join('')
  const commit = ({ at }: { at: string }, content: string) =>
    ann.post(`${at}/tree/main/commits`, { message: 'A change', changes: [{ action: 'put', path: 'a.txt', content }] })

  it('let a refused change through at once, and return to the configured ones', async () => {
    const node = await ann.node()
    await commit(node, noise(40_000)).then(expecting(403))
    const { body } = await set(ann.org, { max_bytes: 90_000 }).then(expecting(200))
    expect(body).to.include({ nodes: 1, max_bytes: 90_000, max_nodes: 3 })
    await commit(node, noise(40_000)).then(expecting(201))
    await commit(node, noise(120_000)).then(expecting(403))
    expect((await set(ann.org, { max_bytes: 0 }).then(expecting(200))).body).to.not.have.property('max_bytes')
    await commit(node, noise(120_000)).then(expecting(201))
    expect((await set(ann.org, { max_bytes: null }).then(expecting(200))).body.max_bytes).to.equal(20_000)
    expect((await commit(node, 'small').then(expecting(403))).body.limit).to.equal(20_000)
  })

  it('count nodes, of this organisation only', async () => {
    const bob = await newUser('Bob')
    const add = (person: PersonClient) => person.post(`/orgs/${person.org}/nodes`, { title: 'Whale' })
    await set(bob.org, { max_nodes: 1 }).then(expecting(200))
    await add(bob).then(expecting(201))
    expect((await add(bob).then(expecting(403))).body).to.include({ limit: 1, what: 'nodes' })
    await set(bob.org, {}).then(expecting(200))
    await set(bob.org, { max_nodes: 2 }).then(expecting(200))
    await add(bob).then(expecting(201))
  })

  it('are for administrators, and valid', async () => {
    await set(ann.org, { max_bytes: 1 }, ann).then(expecting(403))
    expect((await set(ann.user.id, { max_bytes: 1 }).then(expecting(404))).body.code).to.equal('org_not_found')
    for (const wrong of [{ max_bytes: -1 }, { max_bytes: 1.5 }, { max_nodes: '3' }, { most: 3 }])
      await set(ann.org, wrong).then(expecting(422))
  })

  it('are shown to members with the usage, in the response and on the page, and to nobody else', async () => {
    const cat = await newUser('Cat')
    await cat.node()
    await cat.patch(`/orgs/${cat.org}`, { published: true }).then(expecting(200))
    const { usage } = await cat.api.getOrg({ path: { org_id: cat.org } })
    const bytes = await countedBytes(grove, cat.org)
    expect(usage).to.deep.equal({ nodes: 1, max_nodes: 3, max_bytes: 20_000, bytes })
    for (const reader of [ann, client(grove)])
      expect((await reader.get(`/orgs/${cat.org}`).then(expecting(200))).body).to.not.have.property('usage')
    const page = await visitOf(grove, cat)
    const settings = `${pageAt(cat.org)}/settings/general`
    const shown = (await page.open(settings)).body
    expect(shown).to.match(/1 page of at most 3 and [\d.]+ (bytes|KB) of at most 20 KB/)
    await set(cat.org, { max_bytes: 0, max_nodes: 0 }).then(expecting(200))
    expect((await page.open(settings)).body).to.match(/1 page and [\d.]+ (bytes|KB), with/)
  })

  it('are nearly reached once until there is room again: a line of the log, and a metric', async () => {
    const dan = await newUser('Dan')
    await set(dan.org, { max_nodes: 10, max_bytes: 0 }).then(expecting(200))
    const add = async () => (await dan.node()).id
    const seen = async () => {
      const scrape = parseScrape((await client(grove, metricsToken).get('/metrics').then(expecting(200))).body)
      const lines = grove.logged().split('\n')
      return {
        lines: lines.filter((line) => line.includes('90 % of its quota') && line.includes(dan.org)).length,
        counted: sumOf(scrape, 'grove_quota_nearly_full_total', { what: 'nodes' }),
      }
    }
    const before = (await seen()).counted
    const ids: string[] = []
    for (let count = 0; count < 8; count++) ids.push(await add())
    expect(await seen()).to.deep.equal({ lines: 0, counted: before })
    ids.push(await add(), await add())
    expect(await seen()).to.deep.equal({ lines: 1, counted: before + 1 })
    for (const id of ids.slice(0, 4)) await dan.delete(`/orgs/${dan.org}/nodes/${id}`).then(expecting(204))
    for (let count = 0; count < 3; count++) await add()
    expect(await seen()).to.deep.equal({ lines: 2, counted: before + 2 })
  })

  it('go with the organisation when it is purged', async () => {
    const { id } = await ann.api.createOrg({ body: { name: 'Sea' } })
    await set(id, { max_nodes: 9 }).then(expecting(200))
    const { deps } = grove
    const rows = () => deps.credentials.read.selectFrom('org_limit').selectAll().where('org_id', '=', id).execute()
    await ann.delete(`/orgs/${id}`).then(expecting(204))
    expect(await rows()).to.have.length(1)
    await purge(deps, new Date(Date.now() + 60_000), () => {})
    expect(await rows()).to.have.length(0)
  })
})
