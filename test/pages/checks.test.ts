/** Checks on the page of a proposal and on that of a commit. */

import { expect } from 'chai'
import { ann, aProposal, bob, cy, grove, type Proposal, useScene } from '../review/scene.ts'
import { expecting } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, type PersonClient, password } from '../support/people.ts'
import { sendForm } from './forms.ts'

const ledger = 'refs/grove/ledger'

describe('checks on pages', () => {
  useScene()

  const visit = async (person: PersonClient | undefined, path: string, headers: Record<string, string> = {}) => {
    const signedIn = person && (await sendForm(grove, '/sign-in', { email: person.user.email, password }))
    const cookie = signedIn?.headers['set-cookie']?.split(';')[0] ?? ''
    const sent = { cookie, accept: 'text/html', 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' }
    return readPage(client(grove), path, { ...sent, ...headers })
  }
  const read = async (person: PersonClient | undefined, path: string): Promise<string> =>
    (await visit(person, path).then(expecting(200))).body
  const pageOf = ({ node, number }: Proposal) => `${pageAt(node.org, node.id)}/proposals/${number}`
  const commitOf = ({ node }: Proposal, id: string) => `${pageAt(node.org, node.id)}/commits/${id}`
  const report = ({ node, head }: Proposal, name: string, body: object) =>
    bob.put(`${node.at}/checks/${head}/${encodeURIComponent(name)}`, body).then(expecting(200))
  const boxIn = (html: string) => /<section class="box commit-checks".*?<\/section>/s.exec(html)?.[0] ?? ''
  /** The items as text: what a reader of screens says. */
  const itemsIn = (html: string) =>
    [...boxIn(html).matchAll(/<li class="check-(\w+)">.*?<div>(.*?)<\/div><\/li>/gs)].map(([, kind, inner = '']) => {
      const said = inner.replaceAll(/<time.*?<\/time>/gs, 'then').replaceAll(/<(?:"[^"]*"|[^>"])+>/g, ' ')
      return `${kind}: ${said.replaceAll(/\s+/g, ' ').trim()}`
    })

  it('name each check of the head in words, failed ones first, with a link', async () => {
    const proposal = await aProposal()
    expect(boxIn(await read(cy, pageOf(proposal)))).to.equal('')
    await report(proposal, 'a build', { state: 'success', description: 'In 3 s' })
    await report(proposal, 'links', { state: 'failure', description: 'x.md', url: 'https://ci.example.org/?a=1&b="2"' })
    await report(proposal, 'spelling', { state: 'pending' })
    const items = [
      'failure: links failed x.md Bob , then',
      'pending: spelling is running Bob , then',
      'success: a build passed In 3 s Bob , then',
    ]
    for (const tab of ['changes', 'conversation', 'commits']) {
      const html = await read(cy, `${pageOf(proposal)}?tab=${tab}`)
      expect(itemsIn(html), tab).to.deep.equal(items)
      expect(html).to.include(
        '<a href="https://ci.example.org/?a=1&amp;b=&quot;2&quot;" rel="nofollow noopener noreferrer"><bdi class="name">links</bdi></a>',
      )
    }
    expect(itemsIn(await read(cy, commitOf(proposal, proposal.head)))).to.deep.equal(items)
    await proposal.node.commit('draft', { 'b.md': 'b' })
    expect(boxIn(await read(cy, pageOf(proposal))), 'the next head').to.equal('')
  })

  it('fold checks that passed if there are many', async () => {
    const proposal = await aProposal()
    for (let n = 0; n < 6; n++) await report(proposal, `check ${n}`, { state: 'success' })
    const box = boxIn(await read(cy, pageOf(proposal)))
    expect(box).to.match(/<details><summary>6 checks passed<\/summary><ul>/)
    expect(itemsIn(box)).to.have.length(6)
  })

  it('change the ETag of the page', async () => {
    const proposal = await aProposal()
    const { headers } = await visit(cy, pageOf(proposal))
    await report(proposal, 'links', { state: 'success' })
    const answer = await visit(cy, pageOf(proposal), { 'if-none-match': headers.etag ?? '' })
    expect(answer.status).to.equal(200)
  })

  it('show hostile reports as text, and follow no link that is not of the web', async () => {
    const proposal = await aProposal()
    const { git } = proposal.node
    const hostile = '<img src=x onerror=alert(1)>\u202e"\'&'
    const by = { id: bob.user.id, name: hostile, email: 'bob@example.org' }
    const one = { state: 'failure', description: hostile, by, at: '2026-01-01T00:00:00Z' }
    const checks = {
      links: { ...one, url: 'https://x/"><script>alert(1)</script>' },
      script: { ...one, url: 'javascript:alert(1)' },
      '<script>alert(1)</script>': one,
      later: { ...one, state: hostile },
    }
    const text = JSON.stringify({ commit: proposal.head, checks })
    const files = { [`checks/${proposal.head.slice(0, 2)}/${proposal.head.slice(2)}.json`]: text }
    git.say('update-ref', ledger, git.commit({ files, parents: [git.say('rev-parse', ledger)] }))
    const box = boxIn(await read(cy, pageOf(proposal)))
    expect(boxIn(await read(cy, commitOf(proposal, proposal.head)))).to.include('Some reports were damaged')
    expect(box.match(/<(img|script)/g)).to.equal(null)
    expect(box.match(/href="[^"]*"/g)).to.deep.equal(['href="https://x/&quot;>&lt;script>alert(1)&lt;/script>"'])
    expect(box).to.include(`<bdi>&lt;img src=x onerror=alert(1)>\u202e&quot;'&amp;</bdi>`)
    const states = itemsIn(box).map((item) => item.split(/ failed| cannot| has a/)[0])
    expect(states).to.deep.equal(['failure: links', 'damaged: script', 'unknown: later'])
  })

  it('are for members, although a published organisation shows the commit to anyone', async () => {
    const proposal = await aProposal()
    await ann.put(`${proposal.node.at}/checks/${proposal.base}/links`, { state: 'success' }).then(expecting(200))
    const path = commitOf(proposal, proposal.base)
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    expect(boxIn(await read(undefined, path))).to.equal('')
    expect(itemsIn(await read(cy, path))).to.deep.equal(['success: links passed Ann , then'])
    await ann.patch(`/orgs/${ann.org}`, { published: false }).then(expecting(200))
  })
})
