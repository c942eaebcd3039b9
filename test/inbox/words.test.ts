/** Items of the inbox name the user who asks for something, or mentions somebody. */
import { expect } from 'chai'
import { sendForm } from '../pages/forms.ts'
import { ann, aProposal, bob, comment, cy, grove, pass, review, useScene } from '../review/scene.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, password } from '../support/people.ts'
import { inbox, itemOf } from './scene.ts'

describe('the words of the inbox', () => {
  useScene({ sweeps: false })
  let cookie = ''
  before(async () => {
    const { headers } = await sendForm(grove, '/sign-in', { email: cy.user.email, password })
    cookie = headers['set-cookie']?.split(';')[0] ?? ''
  })
  beforeEach(() => pass(10))

  const read = async (path: string) => {
    const headers = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    return String((await readPage(client(grove), path, headers)).body)
  }

  it('say who mentioned the user, also after others wrote', async () => {
    const proposal = await aProposal()
    await comment(bob, proposal, 'See, @Cy.')
    expect(await read('/me/inbox')).to.match(/<\/a> Bob mentioned you <small>/)
    await comment(ann, proposal, 'Thanks.')
    expect(await read('/me/inbox')).to.match(/<\/a> Bob mentioned you <small>/)
    const { reason, reason_actor } = itemOf(await inbox(cy), proposal)
    expect({ reason, reason_actor }).to.deep.equal({
      reason: 'mentioned',
      reason_actor: { user_id: bob.user.id, name: 'Bob' },
    })
  })

  it('say who asked for a review', async () => {
    const { node, number } = await aProposal('Whales dive.\n', { reviewers: [cy.user.id] })
    const page = await read('/me/inbox')
    expect(page).to.include('Ann asked you for a review')
    // The page of a proposal begins with the changes.
    expect(page).to.include(`href="${pageAt(node.org, node.id)}/proposals/${number}"`)
  })

  it('call a review without a verdict a comment', async () => {
    const proposal = await aProposal()
    await review(ann, proposal, 'comment')
    const page = `${pageAt(proposal.node.org, proposal.node.id)}/proposals/${proposal.number}?tab=conversation`
    expect(await read(page)).to.match(/Ann<\/bdi> commented/)
  })
})
