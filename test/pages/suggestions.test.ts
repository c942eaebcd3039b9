/** Suggestions on the page of a proposal without script: written, shown and applied by forms. */

import { expect } from 'chai'
import { ann, aProposal, bob, comment, cy, eve, grove, type Proposal, useScene } from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { type Answer, client, type PersonClient, password } from '../support/people.ts'
import { sendForm, visitOf } from './forms.ts'

const song = 'Whales sing.\n\nThe blue whale eats fish & krill.\n'

/** The path of a proposal's page. */
const pageOf = ({ node, number }: Proposal) => `${pageAt(node.org, node.id)}/proposals/${number}`

/** A session of the user that opens pages and sends forms. */
async function sessionOf(person: PersonClient) {
  const { send } = await visitOf(grove, person)
  const sent = { accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
  const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
  const cookie = headers['set-cookie']?.split(';')[0] ?? ''
  const open = async (path: string) =>
    (await readPage(client(grove), path, { ...sent, cookie }).then(expecting(200))).body as string
  return { open, send }
}

/** The path where a form led. @throws Error if it was refused */
function ledTo({ status, headers, body }: Answer): string {
  if (status !== 303) throw new Error(`Expected 303, got ${status}: ${body}`)
  return headers.location ?? ''
}

const proposed = ({ node }: Proposal) => node.git.run(['show', 'draft:content.md']).toString()

describe('suggestions on the page of a proposal', () => {
  useScene()

  it('begin as the lines that they replace, and are shown as a difference', async () => {
    const proposal = await aProposal(song)
    const at = pageOf(proposal)
    const { open, send } = await sessionOf(cy)
    expect(await open(`${at}?at=content.md:3#new`)).to.match(/href="[^"]*suggest=[^"]*">\s*Suggest instead/)
    const form = await open(`${at}?at=content.md:3-3&suggest=#new`)
    const text = 'The blue whale eats fish &amp; krill.'
    expect(form).to.match(new RegExp(`<textarea name="suggestion"[^>]*>\n${text}</textarea>`))
    const place = { path: 'content.md', commit: proposal.head, first_line: '3', last_line: '3' }
    const fields = { act: 'comment', ...place, original: song.split('\n')[2] ?? '', text: '' }
    const same = await send(at, { ...fields, suggestion: fields.original })
    expect([same.status, /role="alert">\s*([^<]*)/.exec(same.body)?.[1]?.trim()]).to.deep.equal([
      400,
      'The suggestion is the same as the current text. Change it, or write a comment.',
    ])
    ledTo(await send(at, { ...fields, suggestion: 'The blue whale eats krill.\r\nAlmost only.' }))
    const shown = await open(at)
    expect(shown).to.match(/id="s1".*fish &amp; <\/del>.*Almost only\./s)
    expect(shown, 'a reader cannot apply it').to.not.include('value="apply"')
    const whole = await send(at, { ...fields, text: 'Hm.', suggestion: fields.original })
    ledTo(whole)
    expect((await cy.get(`${proposal.path}/comments/2`)).body).not.to.have.property('suggestion')
  })

  it('are applied one by one or together, and say in which commit', async () => {
    const proposal = await aProposal(song)
    const at = pageOf(proposal)
    const anchor = (place: object) => ({ commit: proposal.head, path: 'content.md', ...place })
    const words = (exact: string, suggestion: string) =>
      comment(cy, proposal, '', { suggestion, anchor: anchor({ quote: { exact } }) })
    for (const [exact, to] of [
      ['sing', 'sang'],
      ['fish & ', ''],
      ['fish', 'cod'],
      ['blue', 'big'],
    ] as const)
      await words(exact, to)
    const { open, send } = await sessionOf(bob)
    for (const view of [at, `${at}?tab=conversation`]) {
      const page = await open(view)
      expect(page.match(/aria-label="Apply suggestion \d"/g)).to.have.length(4)
      expect(page).to.include('4 open suggestions').and.include('Apply selected')
    }
    const seen = { act: 'apply', commit: proposal.head }
    const none = await send(at, seen)
    expect([none.status, none.body.includes('Select the suggestions to apply')]).to.deep.equal([400, true])
    const both = await send(at, { ...seen, chosen: ['2', '3'] })
    expect(both.status).to.equal(409)
    expect(both.body).to.match(/replace the same text.*href="#c2".*href="#c3"/s)
    expect(ledTo(await send(at, { ...seen, chosen: ['1', '2'], message: 'Sing of krill' }))).to.equal(`${at}#c1`)
    expect(proposed(proposal)).to.equal('Whales sang.\n\nThe blue whale eats krill.\n')
    expect(proposal.node.git.say('log', '-1', '--format=%s', 'draft')).to.equal('Sing of krill')
    const after = await open(at)
    expect(after).to.match(/id="s1".*Applied in\s*<a[^>]*>[0-9a-f]{8}<\/a>\s*by\s*<bdi[^>]*>Bob</s)
    expect(after).to.match(/id="s3".*Outdated: the text that it replaces is gone/s)
    expect(after.match(/aria-label="Apply suggestion \d"/g)).to.deep.equal(['aria-label="Apply suggestion 4"'])
    expect(after, 'one needs no list').to.not.include('Apply selected')
    const late = await send(at, { ...seen, chosen: '4' })
    expect([late.status, late.body.includes('?since=')]).to.deep.equal([409, true])
    const commit = proposal.node.git.head('draft')
    ledTo(await send(`${at}?tab=conversation`, { act: 'apply', commit, chosen: '4' }))
    expect(proposed(proposal)).to.include('The big whale')
    const conversation = await open(`${at}?tab=conversation`)
    expect(conversation.match(/Applied in/g)).to.have.length(3)
    expect(conversation).to.include('Outdated: the text')
    expect(conversation).to.not.include('value="apply"')
  })

  it('are changed by their author, and keep a refused text', async () => {
    const proposal = await aProposal(song)
    const at = pageOf(proposal)
    const quote = { exact: 'fish' }
    await comment(cy, proposal, 'Hm.', {
      suggestion: 'cod',
      anchor: { commit: proposal.head, path: 'content.md', quote },
    })
    const { open, send } = await sessionOf(cy)
    expect(await open(`${at}?edit=1`)).to.match(/<textarea name="suggestion"[^>]*>\ncod<\/textarea>/)
    ledTo(await send(at, { act: 'edit', entry: '1', text: 'Hm.', suggestion: 'crab', original: 'cod' }))
    expect((await cy.get(`${proposal.path}/comments/1`)).body).to.include({ suggestion: 'crab', text: 'Hm.' })
    await ann.patch(proposal.path, { status: 'closed' }).then(expecting(200))
    const refused = await send(at, { act: 'edit', entry: '1', text: 'So.', suggestion: '', original: 'crab' })
    expect(refused.status).to.equal(409)
    expect(refused.body).to.match(/data-refused.*<textarea name="suggestion"[^>]*><\/textarea>.*\nSo\.</s)
    expect(await open(at), 'an ended proposal has nothing to apply').to.not.include('value="apply"')
  })

  it('offer a contributor nothing on branches of others', async () => {
    const proposal = await aProposal(song)
    await ann.put(`/orgs/${ann.org}/members/eve@example.org`, { role: 'contributor' }).then(expecting(200))
    const quote = { exact: 'fish' }
    await comment(eve, proposal, '', {
      suggestion: 'cod',
      anchor: { commit: proposal.head, path: 'content.md', quote },
    })
    const { open } = await sessionOf(eve)
    expect(await open(pageOf(proposal))).to.not.include('value="apply"')
  })
})
