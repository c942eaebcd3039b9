/** The lines that git shows after a push to the source of an open pull request. */

import { expect } from 'chai'
import fc from 'fast-check'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { pageAt } from '../support/pages.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { runs } from '../support/seed.ts'

describe('git: a push to the source of an open pull request', () => {
  let grove: Grove
  let ann: PersonClient
  let bob: PersonClient
  let cy: PersonClient
  let desk: Desk
  let node: TestNode

  before(async () => {
    grove = await startGrove({ logLevel: 'warn' })
    ann = await signUp(grove, 'Ann')
    bob = await signUp(grove, 'Bob')
    cy = await signUp(grove, 'Cy')
    for (const name of ['bob', 'cy'])
      await ann.put(`/orgs/${ann.org}/members/${name}@example.org`, { role: 'editor' }).then(expecting(200))
    desk = await newDesk()
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })

  const path = (number: number) => `${node.at}/pull-requests/${number}`
  const line = (number: number) =>
    `remote: Pull request ${number}: ${grove.url}${pageAt(node.org, node.id)}/proposals/${number}\n`
  const review = async (by: PersonClient, verdict: 'approve' | 'request_changes', number = 1) => {
    const { source_commit: expected_source_commit } = await node.pull(number)
    return by.post(`${path(number)}/reviews`, { verdict, text: 'Read.', expected_source_commit }).then(expecting(201))
  }
  const states = async (number = 1) =>
    (await node.pull(number)).consent.verdicts.map((one: Record<string, unknown>) => `${one.author} ${one.state}`)
  /** Runs a script in a clone and returns what git shows. The clone is on `draft`, and is of `node`. */
  const inClone = (script: string) => desk.done(`cd ${node.id}; ${script}`)
  /** Makes a node with pull request 1 from `draft`, and a clone of it. */
  const propose = async (fields: object = {}) => {
    node = await newNode(grove, ann, { text_content: 'One.\n\nTwo.\n\nThree.\n' })
    await node.branch('draft')
    await node.commit('draft', { 'content.md': 'One.\n\nTwo, and more.\n\nThree.\n' })
    await node.open('draft', fields)
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done(`git clone -q $REMOTE ${node.id}; cd ${node.id}; git checkout -q draft`, { REMOTE })
  }
  const edit = "sed -i 's/and more/and much more/' content.md; git commit -q -am Edit"

  it('shows its page', async () => {
    await propose()
    expect(await inClone(`${edit}; git push -q origin draft`)).to.equal(line(1))
    expect(await inClone('git commit -q --allow-empty -m Same; git push -q origin HEAD:draft')).to.equal(line(1))
  })

  it('shows open threads, and approvals that no longer hold, once', async () => {
    await propose()
    await bob.post(`${path(1)}/comments`, { text: 'A source?' }).then(expecting(201))
    await review(bob, 'approve')
    expect(await inClone(`${edit}; git push -q origin draft`)).to.equal(
      `${line(1)}remote: 1 open thread\nremote: 1 approval no longer holds\n`,
    )
    expect(await states()).to.deep.equal(['Bob stale'])
    await bob.post(`${path(1)}/comments`, { text: 'And here?' }).then(expecting(201))
    expect(await inClone("sed -i 's/much //' content.md; git commit -q -am Less; git push -q origin draft")).to.equal(
      `${line(1)}remote: 2 open threads\n`,
    )
    expect(await states(), 'the approved change is back').to.deep.equal(['Bob current'])
    await review(cy, 'approve')
    for (const thread of [1, 3]) await ann.patch(`${path(1)}/threads/${thread}`, { resolved: true })
    expect(
      await inClone('git reset -q --hard main; echo New >> a.md; git add .; git commit -q -m New; git push -qf'),
    ).to.equal(`${line(1)}remote: 2 approvals no longer hold\n`)
    expect(await states()).to.deep.equal(['Bob stale', 'Cy stale'])
  })

  it('counts no approval that did not count, and no request for changes', async () => {
    await propose()
    await review(cy, 'request_changes')
    const { entry } = (await review(bob, 'approve')).body
    await bob.patch(`${path(1)}/reviews/${entry}`, { state: 'withdrawn' }).then(expecting(200))
    expect(await inClone(`${edit}; git push -q origin draft`)).to.equal(line(1))
    expect(await states()).to.deep.equal(['Cy current', 'Bob withdrawn'])
  })

  it('keeps approvals with a rebase, a squash and a reworded commit, also if main moves with it', async () => {
    await propose()
    await review(bob, 'approve')
    await node.commit('main', { 'content.md': 'Zero.\n\nOne.\n\nTwo.\n\nThree.\n' })
    expect(await inClone('git pull -q --rebase origin main; git push -q -f origin draft')).to.equal(line(1))
    expect(await inClone('git commit -q --amend -m Reworded; git push -q -f origin draft')).to.equal(line(1))
    await inClone(`${edit}; git push -q origin draft`)
    await review(bob, 'approve')
    expect(await inClone('git reset -q --soft HEAD~2; git commit -q -m All; git push -q -f origin draft')).to.equal(
      line(1),
    )
    const both = `git checkout -q main; git pull -q; echo Other > other.md; git add .; git commit -q -m Other
      git checkout -q draft; git rebase -q main; git push -q -f --atomic origin main draft`
    expect(await inClone(both)).to.equal(line(1))
    expect(await states()).to.deep.equal(['Bob current'])
  })

  it('counts as the API does, after any two pushes', async () => {
    const contents = ['Two.', 'Two, and more.', 'Two, and much more.', 'Four.']
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...contents), fc.constantFrom(...contents), async (first, second) => {
        await propose()
        await review(bob, 'approve')
        await review(cy, 'approve')
        for (const text of [first, second]) {
          const before = (await states()).filter((state: string) => state.endsWith('current'))
          const shown = await inClone(
            `printf 'One.\\n\\n${text}\\n\\nThree.\\n' > content.md; git commit -q --allow-empty -am x; git push -q origin draft`,
          )
          const after = await states()
          const lost = before.filter((state: string) => !after.includes(state)).length
          expect(shown).to.equal(line(1) + (lost === 0 ? '' : `remote: ${lost} approvals no longer hold\n`))
        }
      }),
      { numRuns: runs(6), seed: 3 },
    )
  })

  it('shows a draft also, and the end of a pull request instead of its page', async () => {
    await propose({ is_draft: true })
    expect(await inClone(`${edit}; git push -q origin draft`)).to.equal(line(1))
    await ann.patch(path(1), { is_draft: false }).then(expecting(200))
    const merged = await inClone('echo x > x.md; git add .; git commit -q -m x; git push -q origin draft draft:main')
    expect(merged).to.equal('remote: Pull request 1 is merged: Merge draft\n')
    await propose()
    expect(await inClone('git push -q origin :draft')).to.equal('remote: Pull request 1 is closed: Merge draft\n')
  })

  it('shows nothing for new branches, tags, targets and refused refs', async () => {
    await propose()
    expect(await inClone('git push -q origin draft:other; git tag v1; git push -q origin v1')).to.equal('')
    expect(await inClone('git checkout -q main; echo y > y.md; git add .; git commit -q -m y; git push -q')).to.equal(
      '',
    )
    const { text } = await desk.sh(
      `cd ${node.id}; git checkout -q draft; ${edit}; git push -q --atomic origin draft draft:refs/other/x`,
    )
    expect(text).to.include('! [remote rejected]').and.not.include('Pull request')
  })

  it('shows at most ten lines, with any titles', async () => {
    await propose({ title: '\u202e[31m`$(reboot)`' })
    for (let n = 2; n <= 6; n++) {
      await node.branch(`release/${n}`)
      await node.open('draft', { target_branch: `release/${n}`, title: `\u202e${n}\u2066` })
    }
    for (let n = 1; n <= 6; n++) {
      await bob.post(`${path(n)}/comments`, { text: 'A source?' }).then(expecting(201))
      await review(bob, 'approve', n)
    }
    const shown = await inClone(`${edit}; git push -q origin draft`)
    const described = [1, 2, 3].map((n) => `${line(n)}remote: 1 open thread\nremote: 1 approval no longer holds\n`)
    expect(shown).to.equal(`${described.join('')}remote: and 3 other open pull requests\n`)
    expect(shown).to.match(/^[\x20-\x7e\n]*$/)
    const merged = await inClone('git push -q origin draft:main')
    expect(merged).to.equal('remote: Pull request 1 is merged: \\u202e[31m`$(reboot)`\n')
  })

  it('is done, without the line on approvals, if they cannot be compared or not in time', async () => {
    await propose()
    await review(bob, 'approve')
    const { timeout } = AbortSignal
    AbortSignal.timeout = (ms) =>
      ms === 2_000 ? AbortSignal.abort(new Error('too late')) : timeout.call(AbortSignal, ms)
    try {
      expect(await inClone(`${edit}; git push -q origin draft`)).to.equal(line(1))
    } finally {
      AbortSignal.timeout = timeout
    }
    expect(grove.logged()).to.include('its approvals could not be compared in time').and.to.include('too late')
    expect(await states()).to.deep.equal(['Bob stale'])
  })
})
