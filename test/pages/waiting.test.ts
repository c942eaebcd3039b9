/** "Waiting for you" on the home page. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { expecting, newNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient, password, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'
import { sendForm } from './forms.ts'

describe('the home page', () => {
  const { grove, ann, bob } = useWorld({ ann: 'owner', bob: 'reader' })

  const homeOf = (person: PersonClient) => pageOf(person, '/')
  const pageOf = async (person: PersonClient, path: string): Promise<string> => {
    const { headers } = await sendForm(grove, '/sign-in', { email: person.user.email, password })
    const cookie = headers['set-cookie']?.split(';')[0] ?? ''
    const read = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    return String((await readPage(client(grove), path, read)).body)
  }

  it('names the proposals that wait for the user, with a link, and nothing if none does', async () => {
    expect(await homeOf(bob)).to.not.include('Waiting for you')
    const node = await newNode(grove, ann)
    await node.proposal('draft')
    await node.open('draft', { title: 'Sing <b>louder</b>', reviewers: [bob.user.id] })
    await ann.post(`${node.at}/pull-requests/1/comments`, { text: 'See, @Bob.' }).then(expecting(201))
    const page = await homeOf(bob)
    expect(page).to.include('Waiting for you')
    expect(page).to.include(`href="${pageAt(node.org, node.id)}/proposals/1?tab=conversation"`)
    expect(page).to.include('Sing &lt;b>louder&lt;/b>')
    expect(page).to.include('asks for your review and mentions you')
    expect(await homeOf(ann)).to.include('is yours and has open threads')
    await pageOf(bob, `${pageAt(node.org, node.id)}/proposals/1`)
    expect(await homeOf(bob), 'the changes were read').to.include('mentions you')
    await pageOf(bob, `${pageAt(node.org, node.id)}/proposals/1?tab=conversation`)
    expect(await homeOf(bob), 'the conversation was read')
      .to.include('asks for your review')
      .and.not.include('mentions you')
  })

  it('counts the open proposals of organisations where the user may merge', async () => {
    const nina = await signUp(grove, 'Nina')
    const { id: org } = await made(ann.post('/orgs', { name: 'Handbook & more' }))
    const { id } = await made(ann.post(`/orgs/${org}/nodes`, { title: 'Leave' }))
    for (const name of ['one', 'two']) {
      await ann.post(`/orgs/${org}/nodes/${id}/branches`, { name }).then(expecting(201))
      const body = { source_branch: name, title: name }
      await ann.post(`/orgs/${org}/nodes/${id}/pull-requests`, body).then(expecting(201))
    }
    const said = /<strong>2 open proposals<\/strong> in Handbook &amp; more/
    const seenAs = async (role: string): Promise<boolean> => {
      await ann.put(`/orgs/${org}/members/${nina.user.email}`, { role }).then(expecting(200))
      const page = await homeOf(nina)
      expect(page.includes(`href="${pageAt(org)}/proposals"`), role).to.equal(said.test(page))
      return said.test(page)
    }
    expect(await seenAs('editor')).to.equal(true)
    expect([await seenAs('reader'), await seenAs('contributor')]).to.deep.equal([false, false])
    await ann.patch(`/orgs/${org}`, { require_pull_requests: true }).then(expecting(200))
    expect([await seenAs('editor'), await seenAs('maintainer')]).to.deep.equal([false, true])
  })
})
