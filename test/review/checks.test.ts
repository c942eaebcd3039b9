/** Checks that machines report about commits. */

import { expect } from 'chai'
import { newBot, speaking } from '../bots/scene.ts'
import { cli } from '../operator/desk.ts'
import { times } from '../support/many.ts'
import { expecting } from '../support/node.ts'
import { type Client, client, signUp } from '../support/people.ts'
import { ann, aProposal, bob, comment, cy, di, eve, grove, nodes, now, type Proposal, pass, useScene } from './scene.ts'

const ledger = 'refs/grove/ledger'
const unknown = '1'.repeat(40)

describe('checks of commits', () => {
  useScene()

  const at = ({ node }: Proposal, commit: string, name?: string) =>
    `${node.at}/checks/${commit}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
  const report = async (by: Client, path: string, body: object | string) =>
    (await by.put(path, typeof body === 'string' ? { state: body } : body).then(expecting(200))).body
  const list = async (proposal: Proposal, commit: string) =>
    (await cy.get(at(proposal, commit)).then(expecting(200))).body
  const states = async (proposal: Proposal, commit: string) =>
    (await list(proposal, commit)).checks.map((one: Record<string, string>) => `${one.name} ${one.state}`)
  const fileOf = ({ node }: Proposal, commit: string) =>
    JSON.parse(node.git.say('show', `${ledger}:checks/${commit.slice(0, 2)}/${commit.slice(2)}.json`))
  const commits = ({ node }: Proposal) => node.git.lines('log', '--first-parent', '--format=%H', ledger)
  const parents = ({ node }: Proposal) => node.git.say('log', '-1', '--format=%P', ledger).split(' ')
  const tokenOf = async (who: Client, access: string) =>
    client(grove, (await who.post('/auth/tokens', { name: 'CI', access }).then(expecting(201))).body.token)

  it('are reported by a token, kept in the ledger and listed by name', async () => {
    const proposal = await aProposal()
    const { head } = proposal
    const ci = await tokenOf(bob, 'write')
    expect(await list(proposal, head)).to.deep.equal({ commit_id: head, checks: [], is_damaged: false })
    const pending = await report(ci, at(proposal, head, 'links'), 'pending')
    const by = { id: bob.user.id, name: 'Bob' }
    expect(pending).to.deep.equal({ name: 'links', state: 'pending', reported_by: by, reported_at: now() })
    pass(10)
    const body = { state: 'failure', description: 'x.md is missing: “é” 🐋', url: 'https://ci.example.org/7?a=b' }
    const links = { name: 'links', ...body, reported_by: by, reported_at: now() }
    expect(await report(ci, at(proposal, head, 'links'), body)).to.deep.equal(links)
    const first = now()
    pass(10)
    await report(ann, at(proposal, head, 'a/b c'), { state: 'success', description: '' })
    const other = { name: 'a/b c', state: 'success', reported_by: { id: ann.user.id, name: 'Ann' }, reported_at: now() }
    const checks = [other, links]
    expect(await list(proposal, head)).to.deep.equal({ commit_id: head, checks, is_damaged: false })
    expect(fileOf(proposal, head)).to.deep.equal({
      commit: head,
      checks: {
        links: { ...body, by: { ...by, email: 'bob@example.org' }, at: first },
        'a/b c': { state: 'success', by: { id: ann.user.id, name: 'Ann', email: 'ann@example.org' }, at: now() },
      },
    })
    const format = ['-3', '--first-parent', '--format=%an <%ae> %cn %s', ledger]
    expect(proposal.node.git.lines('log', ...format)).to.deep.equal([
      `Ann <ann@example.org> Ann check ${head} a/b c`,
      `Bob <bob@example.org> Bob check ${head} links`,
      `Bob <bob@example.org> Bob check ${head} links`,
    ])
  })

  it('change nothing if a report says the same again, and do if anything differs', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head, 'links')
    const body = { state: 'success', description: 'Fine', url: 'https://ci.example.org/1' }
    const first = await report(bob, path, body)
    const before = commits(proposal)
    pass(60)
    for (const same of [body, { ...body }]) expect(await report(bob, path, same)).to.deep.equal(first)
    expect(commits(proposal)).to.deep.equal(before)
    const others = [
      { ...body, state: 'failure' },
      { ...body, description: 'Finer' },
      { ...body, url: 'https://ci.example.org/2' },
      { state: 'success' },
      { state: 'success', description: '', url: null },
    ]
    for (const other of others) await report(bob, path, other)
    expect(commits(proposal)).to.have.length(before.length + 4)
  })

  it('stay with the user who reported them first, unless a rule names another one', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head, 'links')
    await report(bob, path, 'failure')
    const before = commits(proposal)
    const setRules = (rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    for (const checks of [
      [],
      [{ name: 'links' }],
      [
        { name: 'links', from: di.user.id },
        { name: 'spelling', from: ann.user.id },
      ],
    ]) {
      await setRules([{ branches: ['main'], checks }])
      for (const state of ['success', 'failure']) {
        const { status, body } = await ann.put(path, { state })
        expect({ status, code: body.code, detail: body.detail }).to.deep.equal({
          status: 409,
          code: 'check_exists',
          detail: 'Bob reported the check links of this commit, so only Bob can change it',
        })
      }
    }
    expect(commits(proposal)).to.deep.equal(before)
    expect((await report(di, path, 'success')).reported_by.name).to.equal('Di')
    expect((await bob.put(path, { state: 'failure' })).body.code).to.equal('check_exists')
    await setRules([])
  })

  it.deep('go from a user to a bot and not back, unless a rule names the user', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head, 'build')
    const [builder, other] = await Promise.all(
      ['Builder', 'Other'].map(async (name) => {
        const { id } = await newBot(ann, ann.org, { name })
        return (await speaking(grove, ann, ann.org, id)).as
      }),
    )
    if (!builder || !other) throw new Error('There are no bots')
    const setRules = (rules: object[]) => ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    const code = async (by: Client, state: string) => (await by.put(path, { state })).body.code
    await report(bob, path, 'success')
    await setRules([{ branches: ['main'], checks: [{ name: 'build', from: bob.user.id }] }])
    expect(await code(builder, 'failure'), 'a rule names Bob').to.equal('check_exists')
    await setRules([{ branches: ['main'], checks: [{ name: 'build' }] }])
    expect((await report(builder, path, 'failure')).reported_by.name).to.equal('Builder[bot]')
    for (const by of [bob, ann, other]) expect(await code(by, 'success')).to.equal('check_exists')
    expect(await states(proposal, proposal.head)).to.deep.equal(['build failure'])
    await setRules([])
  })

  it.deep('do not count if their user has left, and then anyone may report', async () => {
    const [proposal, gone] = [await aProposal(), await signUp(grove, 'Gone')]
    const member = `/orgs/${ann.org}/members/${gone.user.email}`
    await ann.put(member, { role: 'editor' }).then(expecting(200))
    const rules = [{ branches: ['main'], checks: [{ name: 'build' }] }]
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    const path = at(proposal, proposal.head, 'build')
    await report(gone, path, 'success')
    const reasons = async () => (await ann.get(proposal.path)).body.pr.merge_reasons
    expect(await reasons()).to.deep.equal(['mergeable'])
    await ann.delete(member).then(expecting(204))
    expect(await reasons()).to.deep.equal(['checks_missing'])
    await report(bob, path, 'success')
    expect(await reasons()).to.deep.equal(['mergeable'])
    const bot = await newBot(ann, ann.org, { name: 'Builder' })
    await report((await speaking(grove, ann, ann.org, bot.id)).as, path, 'failure')
    await ann.delete(`/orgs/${ann.org}/bots/${bot.id}`).then(expecting(204))
    expect((await bob.put(path, { state: 'success' })).body.code, 'the report of a bot stays').to.equal('check_exists')
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it.deep('are all kept if 16 are reported at once, under different names and under one', async () => {
    const proposal = await aProposal()
    const before = commits(proposal).length
    await times(16, (n) => report(n % 2 ? ann : bob, at(proposal, proposal.head, `check ${n}`), 'success'))
    const names = Array.from({ length: 16 }, (_, n) => `check ${n} success`).sort()
    expect(await states(proposal, proposal.head)).to.deep.equal(names)
    await times(16, (n) => report(bob, at(proposal, proposal.head, 'one'), { state: 'failure', description: `${n}` }))
    const { checks } = await list(proposal, proposal.head)
    const last = checks.find(({ name }: { name: string }) => name === 'one')
    expect(last.description).to.equal(fileOf(proposal, proposal.head).checks.one.description)
    expect(commits(proposal)).to.have.length(before + 32)
  })

  it('keep their commit by the first report, unless main or a comment keeps it', async () => {
    const proposal = await aProposal()
    const { head, base, node } = proposal
    const [tip] = commits(proposal)
    await report(bob, at(proposal, head, 'links'), 'pending')
    expect(parents(proposal), 'the first report').to.deep.equal([tip, head])
    await report(bob, at(proposal, head, 'links'), 'success')
    expect(parents(proposal), 'the second report').to.have.length(1)
    await report(bob, at(proposal, base, 'links'), 'success')
    expect(parents(proposal), 'main').to.have.length(1)
    const next = await node.commit('draft', { 'b.md': 'b' })
    await comment(cy, proposal, 'So?')
    await report(bob, at(proposal, next, 'links'), 'success')
    expect(parents(proposal), 'a head with a comment').to.have.length(1)
    node.git.point('draft', base)
    node.git.say('reflog', 'expire', '--expire=now', '--all')
    node.git.say('gc', '--quiet', '--prune=now')
    for (const commit of [head, next]) {
      expect(await states(proposal, commit)).to.deep.equal(['links success'])
      await report(bob, at(proposal, commit, 'spelling'), 'failure')
      expect(await states(proposal, commit)).to.deep.equal(['links success', 'spelling failure'])
    }
  })

  it('can be reported of a commit that only a comment keeps', async () => {
    const proposal = await aProposal()
    await comment(cy, proposal, 'So?')
    proposal.node.git.point('draft', proposal.base)
    await report(bob, at(proposal, proposal.head, 'links'), 'success')
    expect(await states(proposal, proposal.head)).to.deep.equal(['links success'])
  })

  it('have names with slashes, encoded or raw, and names that objects of JavaScript have', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head)
    await report(bob, `${path}/ci%2Flinks`, 'pending')
    await report(bob, `${path}/ci/links`, 'success')
    await report(bob, `${path}/ci%2Flinks/`, 'failure')
    for (const name of ['__proto__', 'constructor', 'toString', '10', '9', '...', '-', ' ', '%2e%2E.'])
      await report(bob, `${path}/${name.replaceAll(' ', '%20')}`, 'success')
    await report(bob, `${path}/__proto__`, { state: 'success', description: 'Again' })
    const names = ['ci/links success', 'ci/links/ failure', '__proto__ success', 'constructor success']
    names.push('toString success', '10 success', '9 success', '... success', '- success', '  success')
    expect(await states(proposal, proposal.head)).to.deep.equal(names.sort())
    expect(Object.keys(fileOf(proposal, proposal.head).checks)).to.have.members(names.map((name) => name.slice(0, -8)))
    const { status } = await bob.get(`${path}/links`)
    expect(status).to.equal(405)
  })

  it('are refused in a wrong shape, with the place of each problem', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head)
    const before = commits(proposal)
    const problems = async (name: string, body: unknown) => {
      const { status, body: answer } = await bob.put(`${path}/${name}`, body)
      expect(status, `${name} ${JSON.stringify(body)}`).to.equal(422)
      return answer.detail.map(({ loc, type }: { loc: string[]; type: string }) => `${loc.join('.')} ${type}`)
    }
    for (const name of ['%C3%A9', 'a%0Ab', 'a%00', 'a:b', '%3Cb%3E', 'a%5Cb', 'a%2Bb'])
      expect(await problems(name, { state: 'success' }), name).to.deep.equal(['path.name string_pattern_mismatch'])
    expect(await problems('x'.repeat(101), { state: 'success' })).to.include('path.name string_too_long')
    expect(await problems('links', {})).to.deep.equal(['body.state missing'])
    expect(await problems('links', { state: 'damaged' })).to.deep.equal(['body.state enum'])
    expect(await problems('links', { state: 'success', checks: 1 })).to.deep.equal(['body.checks extra_forbidden'])
    const described = (description: string) => problems('links', { state: 'success', description })
    expect(await described('🐋'.repeat(201))).to.deep.equal(['body.description string_too_long'])
    for (const text of ['a\nb', '\u001b[31m', '\u007f', '\u009b'])
      expect(await described(text)).to.deep.equal(['body.description string_pattern_mismatch'])
    const linked = (url: string) => problems('links', { state: 'success', url })
    for (const url of ['javascript:alert(1)', 'ftp://x', '//x', '/x', 'https:x', 'https://a b', ' https://x', ''])
      expect(await linked(url), url).to.deep.equal(['body.url string_pattern_mismatch'])
    for (const url of ['https://', 'https://[', 'https://x:99999/'])
      expect((await linked(url))[0], url).to.match(/^body\.url /)
    expect(await linked(`https://x/${'x'.repeat(991)}`)).to.deep.equal(['body.url string_too_long'])
    expect(commits(proposal)).to.deep.equal(before)
    const largest = { description: '🐋'.repeat(200), url: `https://x/${'é'.repeat(990)}` }
    await report(bob, `${path}/${'x'.repeat(100)}`, { state: 'success', ...largest })
  })

  it.deep('are at most 50 for a commit, of which each can be reported again', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head)
    const body = { description: '🐋'.repeat(200), url: `https://x/${'é'.repeat(990)}` }
    const nameOf = (n: number) => `${n}`.padStart(100, '-')
    for (let n = 0; n < 50; n++) await report(bob, `${path}/${nameOf(n)}`, { state: 'pending', ...body })
    const refused = await bob.put(`${path}/more`, { state: 'success' })
    expect([refused.status, refused.body.code]).to.deep.equal([409, 'too_many_checks'])
    await report(bob, `${path}/${nameOf(49)}`, { state: 'success', ...body })
    const { checks, is_damaged } = await list(proposal, proposal.head)
    expect([checks.length, checks[49].state, is_damaged]).to.deep.equal([50, 'success', false])
  })

  it.deep('have room for those that rules demand, after 50 others and up to 100', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head)
    const body = { description: '🐋'.repeat(200), url: `https://x/${'é'.repeat(990)}` }
    const nameOf = (n: number) => `${n}`.padStart(100, '-')
    const code = async (name: string) => (await bob.put(`${path}/${name}`, { state: 'success' })).body.code
    for (let n = 0; n < 50; n++) await report(bob, `${path}/${nameOf(n)}`, { state: 'pending', ...body })
    expect(await code('build')).to.equal('too_many_checks')
    const demanded = Array.from({ length: 60 }, (_, n) => ({ name: nameOf(100 + n) }))
    const rules = [0, 20, 40].map((n) => ({ branches: ['main'], checks: demanded.slice(n, n + 20) }))
    await ann.patch(`/orgs/${ann.org}`, { rules }).then(expecting(200))
    expect(await code('build')).to.equal('too_many_checks')
    for (const { name } of demanded.slice(0, 50)) await report(bob, `${path}/${name}`, { state: 'success', ...body })
    expect(await code(nameOf(150)), 'the file is full').to.equal('too_many_checks')
    const { checks, is_damaged } = await list(proposal, proposal.head)
    expect([checks.length, is_damaged]).to.deep.equal([100, false])
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
  })

  it('are reported by editors, and read by members, about commits that they see', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head, 'links')
    const answers = async (by: Client, url = path) => {
      const [put, get] = [await by.put(url, { state: 'success' }), await by.get(url.replace(/\/links$/, ''))]
      return [put.status, put.body.code, get.status, get.body.code].filter(Boolean)
    }
    expect(await answers(cy)).to.deep.equal([403, 'forbidden', 200])
    expect(await answers(eve)).to.deep.equal([404, 'org_not_found', 404, 'org_not_found'])
    expect(await answers(client(grove))).to.deep.equal([401, 'unauthenticated', 401, 'unauthenticated'])
    expect(await answers(await tokenOf(bob, 'read'))).to.deep.equal([403, 'token_scope', 200])
    for (const who of [bob, await tokenOf(bob, 'write')]) expect(await answers(who)).to.deep.equal([200, 200])
    for (const who of [di, ann])
      expect(await answers(who, at(proposal, proposal.head, `by ${who.user.name}`))).to.deep.equal([
        200,
        405,
        'method_not_allowed',
      ])
    const missing = [404, 'commit_not_found', 404, 'commit_not_found']
    const blob = proposal.node.git.say('rev-parse', 'main:content.md')
    for (const commit of [unknown, proposal.head.slice(0, 12), proposal.head.toUpperCase(), 'main', blob])
      expect(await answers(bob, at(proposal, commit, 'links')), commit).to.deep.equal(missing)
    const loose = proposal.node.git.commit({ parents: [proposal.base] })
    expect(await answers(bob, at(proposal, loose, 'links')), 'on no branch').to.deep.equal(missing)
    proposal.node.git.say('update-ref', 'refs/tags/v1', loose)
    expect(await answers(bob, at(proposal, loose, 'links')), 'with a tag').to.deep.equal([200, 200])
    const [tip = ''] = commits(proposal)
    expect(await answers(bob, at(proposal, tip, 'links')), 'of the ledger').to.deep.equal(missing)
  })

  it('answer 304 until they change', async () => {
    const proposal = await aProposal()
    const path = at(proposal, proposal.head)
    await report(bob, `${path}/links`, 'success')
    const etag = (await cy.get(path).then(expecting(200))).headers.etag ?? ''
    expect((await cy.get(path, { 'if-none-match': etag })).status).to.equal(304)
    await report(bob, `${path}/links`, 'failure')
    expect((await cy.get(path, { 'if-none-match': etag })).status).to.equal(200)
  })

  it.deep('leave repositories that git fsck finds clean, and rows that grove doctor finds right', async () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
    const { code, stdout } = await cli(grove.dataDir, 'doctor')
    expect(code, stdout).to.equal(0)
  })
})
