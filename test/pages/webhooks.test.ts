/** The pages of webhooks, without scripts. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { startGrove } from '../support/grove.ts'
import { pageAt } from '../support/pages.ts'
import { signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { type Receiver, startReceiver, status } from '../webhooks/receiver.ts'
import { alertIn, mainOf, type Visit, visitOf } from './forms.ts'

const textIn = (answer: Parameters<typeof mainOf>[0]) => mainOf(answer).replace(/<[^>]+>/g, '')

describe('the pages of webhooks', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let visit: Visit
  let receiver: Receiver
  let page: string

  before(async () => {
    visit = await visitOf(grove, ann)
  })
  beforeEach(async () => {
    receiver = await startReceiver()
    page = `${pageAt(ann.org)}/settings/webhooks`
  })

  const hooks = async () => (await made(ann.get(`/orgs/${ann.org}/webhooks`))).webhooks
  /** Adds a webhook by the form, and returns its page. */
  async function add(fields: Record<string, string> = {}): Promise<string> {
    const { status: answered, body: html } = await visit.send(page, { act: 'create', url: receiver.url, ...fields })
    expect(answered).to.equal(200)
    expect(html).to.match(/data-token[^>]*>\s*whsec_[A-Za-z0-9+/]{43}=/)
    return `${page}/${(await hooks()).at(-1).id}`
  }

  it('add a webhook, and show its secret once', async () => {
    await add({ types: 'node.*', ordered: 'on' })
    expect((await hooks()).at(-1))
      .to.include({ url: receiver.url, ordered: true })
      .and.deep.include({ types: ['node.*'] })
    const { body: html } = await visit.open(page)
    expect(html).to.include(receiver.url).and.not.include('whsec_')
  })

  it('say next to the field why a URL cannot be used, and keep it', async () => {
    const answer = await visit.send(page, { act: 'create', url: 'https://10.0.0.1/' })
    expect(answer.status).to.equal(422)
    expect(answer.body).to.include('value="https://10.0.0.1/"')
    expect(alertIn(answer)).to.match(/10\.0\.0\.1 is not a public IP address/)
  })

  it('show what was sent, with its answer, and send it again', async () => {
    receiver.answer = status(500)
    const hook = await add({ types: 'node.*' })
    await made(ann.post(`/orgs/${ann.org}/nodes`, { title: 'Whales' }))
    const delivery = /href="([^"]+)">node\.created</
    await grove.settled()
    const shown = textIn(await visit.open(hook))
    expect(shown)
      .to.include('status 500')
      .and.include('Failing, retried later')
      .and.include('The receiver answered 500. Only 2xx counts as received.')
    expect(shown)
      .to.match(/Next attempt: \d+ \w+ \d{4}, \d\d:\d\d UTC\./)
      .and.include('Try again now')
      .and.include('Turn off')
    expect(shown).not.to.match(/Turn on|paused/i)
    const [, details = ''] = delivery.exec((await visit.open(hook)).body) ?? []
    expect(mainOf(await visit.open(details)))
      .to.include('webhook-timestamp: ')
      .and.include('Status 500')
    receiver.answer = status(204)
    const sent = await visit.send(details, { act: 'again' })
    expect(sent.status).to.equal(303)
    await grove.settled()
    expect((await visit.open(hook)).body).to.include('delivered · status 204')
  })

  it('ping, turn off and on, replace the secret and delete', async () => {
    const hook = await add({ types: 'tag.*' })
    expect(mainOf(await visit.send(hook, { act: 'ping' }))).to.include('The test event arrived: status 204')
    receiver.answer = status(404)
    expect(alertIn(await visit.send(hook, { act: 'ping' }))).to.include('The receiver answered 404')
    expect((await visit.send(hook, { act: 'off' })).status).to.equal(303)
    const off = mainOf(await visit.open(hook))
    expect(off).to.include('An owner turned it off.').and.include('Turn on').and.not.include('Turn off')
    await visit.send(hook, { act: 'on' })
    expect((await hooks()).at(-1).state).to.equal('active')
    const rotated = await visit.send(hook, { act: 'rotate' })
    expect(rotated.body).to.match(/whsec_/)
    expect(textIn(rotated)).to.match(/The previous secret also signs until \d+ \w+ \d{4}, \d\d:\d\d UTC\./)
    const gone = await visit.send(hook, { act: 'delete' })
    expect(gone.status).to.equal(303)
    expect((await visit.open(hook)).status).to.equal(404)
  })

  it('offer to replace a lost secret, and nothing that it would refuse', async () => {
    const dataDir = await newDataDir()
    const keyed = await startGrove({ dataDir, secretKey: Buffer.alloc(32, 7).toString('base64') })
    const eve = await signUp(keyed, 'Eve')
    const { id } = await made(eve.post(`/orgs/${eve.org}/webhooks`, { url: receiver.url }))
    await keyed.close()
    const lost = await startGrove({ dataDir })
    const owner = await visitOf(lost, eve)
    const hook = `${pageAt(eve.org)}/settings/webhooks/${id}`
    const shown = mainOf(await owner.open(hook))
    expect(shown)
      .to.include('Its secret cannot be read')
      .and.not.match(/Turn on/)
    const refused = await owner.send(hook, { act: 'on' })
    expect(refused.status).to.equal(409)
    expect(alertIn(refused)).to.include('Replace it first')
    await owner.send(hook, { act: 'rotate' })
    expect(mainOf(await owner.open(hook)))
      .to.include('Turn off')
      .and.not.include('cannot be read')
    await lost.close()
  })

  it('tell members who are not owners that only owners see them', async () => {
    const bob = await signUp(grove, 'Bob')
    await made(ann.put(`/orgs/${ann.org}/members/bob@example.org`, { role: 'maintainer' }))
    await add()
    const { body: html, status: answered } = await (await visitOf(grove, bob)).open(page)
    expect(answered).to.equal(200)
    expect(html).to.include('Only owners can see and change webhooks').and.not.include(receiver.url)
  })
})
