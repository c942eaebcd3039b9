/** Whose approvals and merges count: users who left, changed or were deleted, tokens, and contributors. */

import { expect } from 'chai'
import { prefixOf } from '../support/cast.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, password } from '../support/people.ts'
import {
  ann,
  aProposal,
  become,
  bob,
  cy,
  doors,
  expectMerged,
  gitIn,
  grove,
  headOf,
  kim,
  max,
  member,
  type Proposal,
  proposalOn,
  type Refusal,
  refsOf,
  report,
  review,
  setRules,
  tokenOf,
  useDoors,
  withToken,
} from './doors.ts'

const one = { branches: ['main'], approvals: 1 }
const missing = (...lines: string[]): Refusal => ({
  code: 'approvals_missing',
  detail: `The pull request needs 1 more approval: ${lines.join('; ')}`,
  reason: 'pull request 1 needs 1 more approval',
  lines,
})

/** Expects a refusal by REST and by a push, and then a merge after Cy has approved. */
async function expectRefused(proposal: Proposal, refusal: Refusal): Promise<void> {
  const before = refsOf(proposal.node)
  await doors['POST merge']?.refuses(proposal, ann, refusal)
  await doors['git push']?.refuses(proposal, ann, refusal)
  expect(refsOf(proposal.node)).to.equal(before)
}

async function expectMergedAfterCy(proposal: Proposal): Promise<void> {
  await review(cy, proposal, 'approve')
  const head = await headOf(proposal)
  await doors['git push']?.allows(proposal, bob)
  await expectMerged(proposal, head, bob)
}

/** The member, whatever e-mail address the account has. */
const membership = ({ user }: PersonClient) => `/orgs/${ann.org}/members/${user.id}@users.noreply.invalid`

const remove = (person: PersonClient) => ann.delete(membership(person)).then(expecting(204))

const addAgain = (person: PersonClient) => ann.put(membership(person), { role: 'editor' }).then(expecting(200))

const rename = (person: PersonClient) =>
  person
    .post('/auth/email', { new_email: `renamed-${++made}@example.org`, password })
    .then(({ status }) => expect(status).to.be.within(200, 204))

/** Changes the address of the account, and no member file, as a crash does. */
const setAddress = ({ user }: PersonClient, email: string) =>
  grove.deps.credentials.write((trx) =>
    trx.updateTable('account').set({ email, email_key: email }).where('id', '=', user.id).execute(),
  )

let made = 0

describe('an approval', () => {
  useDoors()

  const lost: Readonly<Record<string, (by: PersonClient) => Promise<unknown>>> = {
    'of a member who left': remove,
    'of a user whose account was deleted': (by) => by.delete('/auth/me', {}, { password }).then(expecting(200)),
    'of an editor who reads now': (by) => become(by, 'reader'),
    'of an editor who contributes now': (by) => become(by, 'contributor'),
  }
  for (const [name, lose] of Object.entries(lost))
    it.deep(`${name} counts no more`, async () => {
      const dee = await member(`Dee ${++made}`, 'editor')
      const proposal = await aProposal()
      await setRules(one)
      await review(dee, proposal, 'approve')
      expect(await proposal.node.pull(1)).to.include({ can_merge: true })
      await lose(dee)
      expect(await proposal.node.pull(1)).to.include({ can_merge: false, merge_reason: 'approvals_missing' })
      await expectRefused(proposal, missing('1 by editors'))
      await expectMergedAfterCy(proposal)
    })

  it.deep('of an author counts not, whatever e-mail address the commits have', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const proposal = await aProposal()
    const { source, node } = proposal
    const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
    await dee.post(`${node.at}/tree/${source}/commits`, { message: 'By Dee', changes }).then(expecting(201))
    await setRules(one)
    await rename(dee)
    await review(dee, proposal, 'approve')
    await expectRefused(
      proposal,
      missing('1 by editors', `not counted: ${dee.user.name} (wrote or pushed its commits)`),
    )
    await expectMergedAfterCy(proposal)
  })

  const ways: Readonly<Record<string, (by: PersonClient) => Promise<unknown>>> = {
    'is removed and added again': async (by) => {
      await remove(by)
      await rename(by)
      await addAgain(by)
    },
    'changes it, leaves and accepts an invitation': async (by) => {
      await rename(by)
      await by.delete(membership(by)).then(expecting(204))
      await rename(by)
      const invited = await ann.post(`/orgs/${ann.org}/invitations`, { role: 'editor' }).then(expecting(201))
      await by.post('/auth/invitations/accept', { token: invited.body.token }).then(expecting(200))
    },
    'leaves twice': async (by) => {
      for (let n = 0; n < 2; n++) {
        await remove(by)
        await rename(by)
        await addAgain(by)
      }
    },
    'changes it more often than the list of earlier ones can say': async (by) => {
      for (let n = 0; n < 101; n++) await rename(by)
    },
  }
  for (const [name, leave] of Object.entries(ways))
    it.deep(`of an author who ${name} counts not`, async () => {
      const dee = await member(`Dee ${++made}`, 'editor')
      const proposal = await aProposal()
      const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
      const tree = `${proposal.node.at}/tree/${proposal.source}`
      await dee.post(`${tree}/commits`, { message: 'By Dee', changes }).then(expecting(201))
      await setRules(one)
      await leave(dee)
      await review(dee, proposal, 'approve')
      await expectRefused(
        proposal,
        missing('1 by editors', `not counted: ${dee.user.name} (wrote or pushed its commits)`),
      )
      await expectMergedAfterCy(proposal)
    })

  it.deep('of an author counts not, if a push names the address in capitals or the hidden one', async () => {
    for (const email of [bob.user.email.toUpperCase(), `${bob.user.id}@users.noreply.invalid`]) {
      const proposal = await aProposal()
      const { node } = proposal
      const commit = `GIT_AUTHOR_EMAIL='${email}' git commit-tree -p draft -m X draft^{tree}`
      const script = `git update-ref refs/heads/draft $(${commit}); git push -q $REMOTE draft`
      expect((await gitIn(node, bob.session.accessToken, script)).code).to.equal(0)
      await setRules(one)
      await review(bob, proposal, 'approve')
      await expectRefused(proposal, missing('1 by editors', 'not counted: Bob (wrote or pushed its commits)'))
    }
  })

  it('of an author counts not, if git changes the address of the account or of an earlier member file', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const [victim, email] = [`victim-${made}@example.org`, `'victim-${made}@example.org`]
    await setAddress(dee, email)
    const [proposal, earlier] = [await aProposal(), await aProposal()]
    const { node, source } = proposal
    const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
    await dee.post(`${node.at}/tree/${source}/commits`, { message: 'By Dee', changes }).then(expecting(201))
    expect(node.git.say('log', '-1', '--format=%ae', source)).to.equal(`${dee.user.id}@users.noreply.invalid`)
    await setRules(one)
    await review(dee, proposal, 'approve')
    expect((await node.pull(1)).consent).to.have.nested.property('verdicts[0].why', 'own_commit')

    const git = earlier.node.git
    const env = { GIT_AUTHOR_EMAIL: victim }
    git.point(
      'draft',
      git.run(['commit-tree', '-p', 'draft', '-m', 'By Dee', 'draft^{tree}'], { env }).toString().trim(),
    )
    await grove.deps.index.write((trx) =>
      trx.updateTable('member').set({ email }).where('user_id', '=', dee.user.id).execute(),
    )
    await review(dee, earlier, 'approve')
    expect((await earlier.node.pull(1)).consent).to.have.nested.property('verdicts[0].why', 'own_commit')
  })

  it('of an author counts not, if an owner changes the role before the member file has the new address', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const proposal = await aProposal()
    const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
    const tree = `${proposal.node.at}/tree/${proposal.source}`
    await dee.post(`${tree}/commits`, { message: 'By Dee', changes }).then(expecting(201))
    await setAddress(dee, `renamed-${++made}@example.org`)
    await ann.put(membership(dee), { role: 'maintainer' }).then(expecting(200))
    await setRules(one)
    await review(dee, proposal, 'approve')
    expect((await proposal.node.pull(1)).consent).to.have.nested.property('verdicts[0].why', 'own_commit')
  })

  it.deep('of a user who pushed a commit under another name counts not, also after the branch is updated', async () => {
    const proposal = await aProposal()
    const { node, path } = proposal
    await setRules(one)
    const file = 'printf "100644 blob %s\\tforged.txt\\n" $(echo Forged. | git hash-object -w --stdin)'
    const commit = `GIT_AUTHOR_EMAIL=ali@example.org git commit-tree -p draft -m X $( (git ls-tree draft; ${file}) | git mktree)`
    const script = `git update-ref refs/heads/draft $(${commit}); git push -q $REMOTE draft`
    expect((await gitIn(node, bob.session.accessToken, script)).code).to.equal(0)
    const refused = missing('1 by editors', 'not counted: Bob (wrote or pushed its commits)')
    await review(bob, proposal, 'approve')
    expect((await node.pull(1)).consent.verdicts).to.have.nested.property('[0].why', 'own_commit')
    await setRules()
    await node.commit('main', { 'news.txt': 'News.\n' })
    await setRules(one)
    await cy.post(`${path}/update-branch`).then(expecting(200))
    await expectRefused(proposal, refused)
    await review(cy, proposal, 'approve')
    expect(await node.pull(1)).to.include({ can_merge: true })
  })

  it.deep('of the author of a commit below a merge commit counts not', async () => {
    const proposal = await aProposal()
    const commit = (name: string) => `GIT_AUTHOR_EMAIL=${name}@example.org git commit-tree -m X draft^{tree}`
    const script = `side=$(${commit('bob')} -p main); git update-ref refs/heads/draft $(${commit('ann')} -p draft -p $side)`
    expect((await gitIn(proposal.node, ann.session.accessToken, `${script}; git push -q $REMOTE draft`)).code).to.equal(
      0,
    )
    await setRules(one)
    await review(bob, proposal, 'approve')
    await expectRefused(proposal, missing('1 by editors', 'not counted: Bob (wrote or pushed its commits)'))
  })

  it.deep('of a co-author counts not, as of the author of a suggestion that was applied', async () => {
    const proposal = await aProposal()
    const { path } = proposal
    const head = await headOf(proposal)
    await setRules(one)
    await rename(cy)
    const anchor = { commit: head, path: 'content.md', quote: { exact: 'Whales' } }
    const { entry } = (
      await cy.post(`${path}/comments`, { text: '', suggestion: 'Blue whales', anchor }).then(expecting(201))
    ).body
    const comments = { comments: [entry], expected_source_commit: head }
    await ann.post(`${path}/suggestions`, comments).then(expecting(200))
    await rename(cy)
    await review(cy, proposal, 'approve')
    await expectRefused(proposal, missing('1 by editors', 'not counted: Cy (wrote or pushed its commits)'))
    await review(max, proposal, 'approve')
    expect(await proposal.node.pull(1)).to.include({ can_merge: true })
  })

  it.deep('of an author, a co-author or a pusher counts not among 600 commits', async () => {
    const proposal = await aProposal()
    const trailer = `Wide\n\nCo-authored-by: Cy <${(await cy.get('/auth/me')).body.email.toUpperCase()}>\n`
    const commits = Array.from({ length: 600 }, (_, n) => {
      const [email, message] = [n === 300 ? 'BOB@example.org' : `m${n}@example.org`, n === 400 ? trailer : `${n}\n`]
      const file = `M 100644 inline f.txt\ndata ${`${n}`.length}\n${n}\n`
      return `commit refs/heads/draft\nauthor M <${email}> ${n} +0000\ncommitter M <m@example.org> ${n} +0000\ndata ${message.length}\n${message}${n === 0 ? 'from refs/heads/draft^0\n' : ''}${file}\n`
    })
    const script = `git fast-import --quiet <<'END'\n${commits.join('')}END\ngit push -q $REMOTE draft`
    expect((await gitIn(proposal.node, max.session.accessToken, script)).code).to.equal(0)
    await setRules(one)
    for (const by of [bob, cy, max]) await review(by, proposal, 'approve')
    const looks = await Promise.all([1, 2, 3].map(() => proposal.node.pull(1)))
    for (const { consent } of looks) {
      expect(consent.verdicts.map(({ why }: { why: string }) => why)).to.deep.equal(Array(3).fill('own_commit'))
      expect(consent.approvals).to.equal(0)
    }
  })

  it.deep('of a committer counts, because updating a branch must not cost the vote', async () => {
    const proposal = await aProposal()
    await proposal.node.commit('main', { 'news.txt': 'News.\n' })
    await review(bob, proposal, 'approve')
    await bob.post(`${proposal.path}/update-branch`).then(expecting(200))
    await setRules(one)
    expect(proposal.node.git.say('log', '-1', '--format=%an %cn', 'draft')).to.equal('Ann Bob')
    await doors['git push']?.allows(proposal, cy)
  })

  it.deep('is given by no token', async () => {
    const proposal = await aProposal()
    await setRules(one)
    const before = refsOf(proposal.node)
    const body = { verdict: 'approve', text: '', expected_source_commit: await headOf(proposal) }
    for (const access of ['write', 'read']) {
      const { status, body: said } = await (await withToken(bob, access)).post(`${proposal.path}/reviews`, body)
      expect([status, said.code]).to.deep.equal([403, 'token_scope'])
    }
    expect(refsOf(proposal.node)).to.equal(before)
    await expectRefused(proposal, missing('1 by editors'))
  })

  it('is neither withdrawn nor dismissed by a token', async () => {
    const proposal = await aProposal()
    const entry = await review(bob, proposal, 'request_changes')
    await setRules(one)
    const acts = [
      [bob, { state: 'withdrawn' }],
      [max, { state: 'dismissed', reason: 'No' }],
    ] as const
    for (const [who, act] of acts) {
      const { status, body } = await (await withToken(who)).patch(`${proposal.path}/reviews/${entry}`, act)
      expect([status, body.code]).to.deep.equal([403, 'token_scope'])
    }
    expect(await proposal.node.pull(1)).to.include({ merge_reason: 'changes_requested' })
  })

  it('of the opener is refused, also under a new e-mail address', async () => {
    const dee = await member(`Dee ${++made}`, 'editor')
    const { node } = await aProposal()
    await node.proposal('second')
    const body = { source_branch: 'second', title: 'Second' }
    const { pr } = (await dee.post(`${node.at}/pull-requests`, body).then(expecting(201))).body
    await rename(dee)
    const review = { verdict: 'approve', text: '', expected_source_commit: pr.source_commit }
    const answer = await dee.post(`${node.at}/pull-requests/${pr.number}/reviews`, review)
    expect([answer.status, answer.body.code]).to.deep.equal([409, 'own_pull_request'])
  })
})

describe('an objection', () => {
  useDoors()

  it.deep('follows its change into another pull request, until one with other content or an approval', async () => {
    const proposal = await aProposal()
    const { node, number, path, source } = proposal
    const { git } = node
    await setRules(one)
    await ann.post(`${node.at}/branches`, { name: 'again', from: source }).then(expecting(201))
    const other = await proposalOn(node, 'again')
    await review(bob, other, 'request_changes')
    await ann.patch(other.path, { status: 'closed' }).then(expecting(200))
    const held = async () => (await node.pull(number)).consent.objections_elsewhere ?? []
    const amended = git.say('commit-tree', `${source}^{tree}`, '-p', 'main', '-m', 'Amended')
    git.point(source, amended)
    expect(await held()).to.deep.equal([{ number: other.number, author: 'Bob' }])
    const [changed = ''] = git.lines('diff', '--name-only', 'main', source)
    git.point(source, git.commit({ parents: [git.head()], files: { [changed]: 'Other.\n' }, message: 'Other' }))
    expect(await held(), 'other content').to.deep.equal([])
    git.point(source, git.commit({ parents: [amended], files: { 'more.txt': 'More.\n' }, message: 'More' }))
    expect(await held(), 'one path more').to.deep.equal([])
    git.point(source, amended)
    await review(bob, proposal, 'approve')
    expect(await held(), 'approved here').to.deep.equal([])
    await ann.post(`${path}/merge`).then(expecting(200))
  })
})

describe('a check', () => {
  useDoors()

  it.deep('of who wrote or pushed a commit counts only if the rule names them', async () => {
    const checks = (from?: string) =>
      setRules({ branches: ['main'], checks: [{ name: 'links', ...(from && { from }) }] })
    const dee = await member(`Dee ${++made}`, 'editor')
    const forged = 'GIT_AUTHOR_EMAIL=ali@example.org git commit-tree -p draft -m X main^{tree}'
    const ways: Readonly<Record<string, (proposal: Proposal) => Promise<PersonClient>>> = {
      'a commit, and a new e-mail address': async ({ node }) => {
        const changes = [{ action: 'put', path: 'dee.txt', content: 'Dee.\n' }]
        await dee.post(`${node.at}/tree/draft/commits`, { message: 'By Dee', changes }).then(expecting(201))
        await rename(dee)
        return dee
      },
      'a push under another name': async ({ node }) => {
        const script = `git update-ref refs/heads/draft $(${forged}); git push -q $REMOTE draft`
        expect((await gitIn(node, bob.session.accessToken, script)).code).to.equal(0)
        return bob
      },
    }
    for (const [name, write] of Object.entries(ways)) {
      const proposal = await aProposal()
      const by = await write(proposal)
      await report(by, proposal, 'links', { state: 'success' })
      await checks()
      expect(await proposal.node.pull(1), name).to.include({ merge_reason: 'checks_missing' })
      const refusal = { code: 'checks_missing', detail: 'The check links has not been reported', lines: [] }
      await doors['git push']?.refuses(proposal, ann, {
        ...refusal,
        reason: 'pull request 1: check links has not been reported',
      })
      await checks(by.user.id)
      expect(await proposal.node.pull(1), name).to.include({ can_merge: true })
    }
  })
})

describe('an override', () => {
  useDoors()
  const override = { reason: 'The site is down' }

  it('is done by no token, and by no push', async () => {
    const proposal = await aProposal()
    await setRules(one)
    const before = refsOf(proposal.node)
    const { status, body } = await (await withToken(ann)).post(`${proposal.path}/merge`, { override })
    expect({ status, body }).to.deep.equal({
      status: 403,
      body: {
        code: 'token_scope',
        detail: 'A personal access token cannot override rules; sign in with your password',
      },
    })
    const script = "git push -q -o override='The site is down' $REMOTE draft:main"
    const pushed = await gitIn(proposal.node, await tokenOf(ann), script)
    expect(pushed.code).to.not.equal(0)
    expect(refsOf(proposal.node)).to.equal(before)
    await ann.post(`${proposal.path}/merge`, { override }).then(expecting(200))
    const record = JSON.parse(proposal.node.git.say('show', 'refs/grove/ledger:pulls/0/0/1.json'))
    expect(record.overridden).to.deep.include({ ...override, reasons: ['approvals_missing'] })
  })

  it('passes no rule that lets nobody override, and neither a conflict nor a draft', async () => {
    const proposal = await aProposal()
    const before = refsOf(proposal.node)
    await setRules({ ...one, override: 'nobody' }, { branches: ['main'], resolved: true })
    const refused = await ann.post(`${proposal.path}/merge`, { override })
    expect(refused.body).to.deep.include({
      code: 'approvals_missing',
      detail: 'The pull request needs 1 more approval: 1 by editors. A rule lets nobody override it',
    })
    expect(refsOf(proposal.node)).to.equal(before)
    await setRules(one)
    await ann.patch(proposal.path, { is_draft: true }).then(expecting(200))
    expect((await ann.post(`${proposal.path}/merge`, { override })).body.code).to.equal('draft')
  })
})

describe('a contributor', () => {
  useDoors()

  it('proposes and is approved, and merges through no door', async () => {
    const { node } = await aProposal()
    const source = `${prefixOf(kim)}songs`
    await kim.post(`${node.at}/branches`, { name: source }).then(expecting(201))
    const changes = [{ action: 'put', path: 'song.txt', content: 'Song.\n' }]
    const tree = `${node.at}/tree/${encodeURIComponent(source)}`
    await kim.post(`${tree}/commits`, { message: 'A song', changes }).then(expecting(201))
    const body = { source_branch: source, title: 'Songs' }
    const { pr } = (await kim.post(`${node.at}/pull-requests`, body).then(expecting(201))).body
    const proposal: Proposal = {
      node,
      number: pr.number,
      path: `${node.at}/pull-requests/${pr.number}`,
      source,
      target: 'main',
    }
    await setRules(one)
    await review(bob, proposal, 'approve')
    const before = refsOf(node)
    const merged = await kim.post(`${proposal.path}/merge`)
    expect([merged.status, merged.body.code]).to.deep.equal([403, 'forbidden'])
    const pushed = await gitIn(node, kim.session.accessToken, `git push -q $REMOTE ${source}:main`)
    expect(pushed.text).to.include(`Contributors can change only branches below ${prefixOf(kim)}`)
    expect(refsOf(node)).to.equal(before)
    const head = await headOf(proposal)
    await bob.post(`${proposal.path}/merge`).then(expecting(200))
    await expectMerged(proposal, head, bob)
  })

  it.deep('approves, reports and resolves nothing that counts for editors', async () => {
    const proposal = await aProposal()
    await setRules(one)
    await review(kim, proposal, 'approve')
    const { at } = proposal.node
    const reported = await kim.put(`${at}/checks/${await headOf(proposal)}/links`, { state: 'success' })
    expect([reported.status, reported.body.code]).to.deep.equal([403, 'forbidden'])
    await expectRefused(proposal, missing('1 by editors'))
    await report(bob, proposal, 'links', { state: 'success' })
    expect(grove.logged()).to.equal('')
    await expectMergedAfterCy(proposal)
  })
})
