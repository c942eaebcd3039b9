/** The audit forgets: old rows, IP addresses after a month, and names of deleted accounts. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { nextChain, startOf } from '../../index/log/chain.ts'
import { appendEvents, beginLog, findLog } from '../../index/log/events.ts'
import type { EventFacts } from '../../server/domain/event-log/event-facts.ts'
import { encodeEvent } from '../../server/domain/event-log/event-json.ts'
import { withoutName } from '../../server/features/audit/forget-names.ts'
import { networkOf, tidyAudit } from '../../server/features/audit/retention.ts'
import { made } from '../support/cast.ts'
import { type PersonClient, password, signUp } from '../support/people.ts'
import { again, ann, grove, now, orgAudit, pass, serviceAudit, useScene } from './scene.ts'

const dayMs = 24 * 3_600_000

async function tidied(): Promise<void> {
  while (!(await tidyAudit(grove.deps)));
}

describe('the audit, as time passes', () => {
  useScene({ sweeps: false, auditRetentionDays: 60 })

  it('cuts IP addresses after 30 days, and has no row after those that are set', async () => {
    await signUp(grove, 'Early')
    pass(29 * dayMs)
    await tidied()
    // The operator has none.
    const addresses = async () => new Set((await serviceAudit('&action=account.*')).map(({ origin }) => origin.address))
    expect([...(await addresses())]).to.have.members([undefined, '127.0.0.1'])
    pass(2 * dayMs)
    await tidied()
    expect([...(await addresses())]).to.have.members([undefined, '127.0.0.0/24'])
    await signUp(grove, 'Late')
    pass(28 * dayMs)
    await tidied()
    expect((await serviceAudit('&action=account.created')).length).to.be.at.least(2)
    pass(1.5 * dayMs)
    await tidied()
    const left = await serviceAudit('&action=account.created')
    expect(left.map(({ origin }) => origin.address)).to.deep.equal(['127.0.0.1'])
  })

  const cuts: readonly [string, string | null][] = [
    ['203.0.113.7', '203.0.113.0/24'],
    ['::ffff:203.0.113.7', '203.0.113.0/24'],
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:0db8:0001:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:db8::1', '2001:db8:0::/48'],
    ['::1', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
    ['unknown', null],
    ['', null],
  ]
  for (const [address, network] of cuts)
    it(`cuts ${address || 'nothing'} to ${network}`, () => {
      expect(networkOf(address)).to.equal(network)
    })
})

describe('the audit of a deleted account', () => {
  useScene({ sweeps: false })

  it('has no name of it, and neither have events, whose chain holds', async () => {
    const zoe = await signUp(grove, 'Zoe Quetzal')
    const id = zoe.user.id
    await append({ type: 'branch.created', data: { name: 'main', head: { author: 'Zoe Quetzal', message: 'x' } } }, zoe)
    await append({ type: 'member.added', data: { user_id: id, name: 'Zoe Quetzal', role: 'reader' } }, ann)
    await append({ type: 'member.added', data: { user_id: ann.user.id, name: 'Ann', role: 'owner' } }, zoe)
    const before = (await orgAudit()).map(({ id: one }) => one)
    expect(JSON.stringify(await serviceAudit())).to.include('Zoe Quetzal')
    await made(zoe.delete('/auth/me', {}, { password }))
    const rows = await serviceAudit()
    expect(JSON.stringify(rows)).to.not.include('Zoe')
    expect(rows.find(({ action }) => action === 'account.deleted')?.actor).to.deep.equal({ kind: 'user', id, name: '' })
    await append({ type: 'branch.updated', data: { name: 'main', head: { author: 'Zoe Quetzal' } } }, ann)
    await tidied()
    const entries = (await orgAudit()).filter(({ action }) => action !== 'branch.updated')
    expect(JSON.stringify(entries)).to.not.include('Zoe')
    expect(JSON.stringify(entries)).to.include('"Ann"')
    expect(entries.map(({ id: one }) => one)).to.deep.equal(before)
    await expectChain()
    // The deletion is itself recorded later, with the name.
    await append({ type: 'member.removed', data: { user_id: id, name: 'Zoe Quetzal', role: 'reader' } }, zoe)
    pass(11 * 60_000)
    await tidied()
    expect(JSON.stringify(await orgAudit(await again(ann)))).to.not.include('Zoe')
    pass(25 * 3_600_000)
    await tidied()
    const { forgotten } = await leftOver()
    expect(forgotten).to.equal(0)
  })

  it('removes the names of one user only, wherever they are', () => {
    const [id, other] = [randomUUID(), randomUUID()]
    const event = (names: readonly string[]) =>
      JSON.stringify({
        id: 'e',
        data: {
          actor: { kind: 'user', id, name: names[0] },
          name: 'a branch',
          members: [
            { user_id: id, name: names[1] },
            { user_id: other, name: 'Ann' },
          ],
          head: { author: names[2], id: 'oid' },
        },
      })
    expect(withoutName(event(['Zoe', 'Zoe', 'Zoe']), { id, name: 'Zoe' })).to.equal(event(['', '', '']))
    expect(withoutName(event(['Zoe', 'Zoe', 'Zoe']), { id: other, name: 'Ann' })).to.include('Zoe')
  })

  async function append(facts: Pick<EventFacts, 'type' | 'data'>, { user }: PersonClient): Promise<void> {
    const at = now()
    const actor = { kind: 'user', id: user.id, name: user.name } as const
    await grove.deps.events.write(async (trx) => {
      const log = (await findLog(trx, ann.org)) ?? (await beginLog(trx, ann.org, { at, isWhole: true }))
      const event = encodeEvent(ann.org, null, { ...facts, key: randomUUID(), at: at.toISOString(), actor })
      appendEvents(trx, log, [event], at)
    })
  }

  async function expectChain(): Promise<void> {
    const { read } = grove.deps.events
    const log = await findLog(read, ann.org)
    if (log === undefined) throw new Error('There is no log')
    let { chain } = startOf(log.log_id)
    for (const event of await read
      .selectFrom('event')
      .selectAll()
      .where('org_id', '=', ann.org)
      .orderBy('seq')
      .execute()) {
      chain = nextChain(chain, event.id)
      expect(event.chain).to.equal(chain)
    }
    expect(log.chain).to.equal(chain)
  }

  async function leftOver() {
    const rows = await grove.deps.events.read.selectFrom('forgotten').selectAll().execute()
    return { forgotten: rows.length }
  }
})
