/** Pushes to `new.git` propose new pages, and leave nothing if they are refused or cut off. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { flush, pktLine } from '../../gitstore/transfer/pkt-line.ts'
import { workingIn } from '../bench/processes.ts'
import { prefixOf } from '../support/cast.ts'
import { type Desk, newDesk, openService, remoteUrl } from '../support/desk.ts'
import { expecting } from '../support/node.ts'
import { type Answer, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'
import { ann, bob, byPage, cy, di, gitOf, grove, open, pageAt, setOf, sets, useScene } from './scene.ts'

const quotaNodes = 11

describe('pushes to new.git', () => {
  useScene({ quotaNodes })

  let desk: Desk
  before(async () => {
    desk = await newDesk()
  })
  after(() => desk.remove())

  /** Makes a new repository with a page, and runs the script there. */
  const work = (token: string | undefined, script: string, title = 'Krill') =>
    desk.sh(
      `rm -rf w; git init -q w; cd w; git remote add origin "$REMOTE"; commit() { git add -A; git commit -q -m "$1"; }
       echo '{"title":"${title}"}' > node.json; echo 'About ${title}.' > content.md; commit 'Add ${title}'; ${script}`,
      { REMOTE: remoteUrl(grove, ann.org, 'new', token) },
    )
  const tokenOf = (who: PersonClient) => who.session.accessToken
  const repositories = () => readdirSync(join(grove.dataDir, ann.org)).sort()
  const numberIn = (text: string) => Number(/Change set (\d+)/.exec(text)?.[1])
  const idIn = (text: string) => /Proposed as ([0-9a-f-]{36})\. Set the remote/.exec(text)?.[1] ?? ''

  /** Runs the script, which is refused. Nothing is left of it. */
  async function refused(who: PersonClient | string | undefined, script: string): Promise<string> {
    const before = repositories()
    const token = who === undefined || typeof who === 'string' ? who : tokenOf(who)
    const { code, text } = await work(token, script)
    expect(code, text).to.not.equal(0)
    // The client has its answer a moment before.
    await until(async () => repositories().join() === before.join())
    return text
  }

  it('propose a page in a new set', async () => {
    const { code, text } = await work(tokenOf(cy), 'git push origin HEAD:main')
    expect(code, text).to.equal(0)
    const [id, number] = [idIn(text), numberIn(text)]
    expect(text).to.include(`git remote set-url origin ${grove.url}/git/${ann.org}/${id}.git\n`)
    const branch = `${prefixOf(cy)}sets/${number}`
    expect(text).to.include(`[new branch]      HEAD -> ${branch}\n`)
    const set = await setOf(number)
    expect(set).to.include({ title: 'Add Krill', is_draft: true, author: 'Cy', num_items: 1 })
    expect(byPage(set)[id]).to.include({ act: 'create', title: 'Krill', source_branch: branch })
    expect((await ann.get(pageAt(id))).status).to.equal(404)
    expect(gitOf(id).lines('for-each-ref', '--format=%(refname)')).to.deep.equal([
      'refs/grove/ledger',
      `refs/heads/${branch}`,
    ])
  })

  it.deep('add pages to a set, whose later pushes go to their own remotes, and which merges', async () => {
    const { change_set: set } = await open(bob, { nodes: [{ title: 'Seas' }] })
    const branch = `sets/${set.number}`
    const { text } = await work(tokenOf(di), `git push -q origin HEAD:${branch}`, 'Squid')
    const id = idIn(text)
    expect(text).to.include(`Change set ${set.number}, 2 pages: `)
    const own = remoteUrl(grove, ann.org, id, tokenOf(di))
    const later = await desk.sh(
      `cd w; git remote set-url origin ${own}; echo More. >> content.md; git commit -q -a -m More
       git push -q origin HEAD:main || git push -q origin HEAD:${branch}`,
    )
    expect(later.text).to.include(`(this page is proposed; push to ${branch})`).and.include('2 pages')
    await bob.post(`${sets}/${set.number}/merge`).then(expecting(200))
    expect((await ann.get(pageAt(id)).then(expecting(200))).body).to.include({ title: 'Squid' })
    expect(gitOf(id).say('show', 'main:content.md')).to.equal('About Squid.\nMore.')
    gitOf(id).fsck()
    const { events } = (await ann.get(`/orgs/${ann.org}/events?limit=100`).then(expecting(200))).body
    const created = events.filter(({ type, data }: Answer['body']) => type === 'node.created' && data.title === 'Squid')
    expect(created).to.have.length(1)
    await ann.delete(pageAt(id)).then(expecting(204))
  })

  it.deep('answer a push that is repeated as at first, and add no second page', async () => {
    const { change_set: set } = await open(cy, { nodes: [{ title: 'Orcas' }] })
    const push = `git push origin HEAD:sets/${set.number}`
    const before = repositories().length
    const { text } = await work(tokenOf(cy), `${push} 2>&1; echo ---; ${push} 2>&1`, 'Eels')
    const [first = '', second] = text.split('---\n')
    expect(idIn(first), text).to.not.equal('')
    expect(second).to.equal(first)
    expect((await setOf(set.number)).num_items).to.equal(2)
    // The client has its answer a moment before.
    await until(async () => repositories().length === before + 1)
    const other = await desk.sh(`cd w; echo More. >> content.md; git commit -q -a -m More; ${push}`)
    expect(other.text, other.text).to.include(`Change set ${set.number}`).and.include('3 pages')
    expect(repositories()).to.have.length(before + 2)
  })

  it.deep('take tokens that propose, below their prefix', async () => {
    const { token } = (await bob.post('/auth/tokens', { name: 'Agent', access: 'propose' }).then(expecting(201))).body
    const { text } = await work(token, 'git push -q origin HEAD:sets/new', 'Agents')
    expect(byPage(await setOf(numberIn(text)))[idIn(text)].source_branch).to.equal(`agent/sets/${numberIn(text)}`)
    const read = (await bob.post('/auth/tokens', { name: 'Reader', access: 'read' }).then(expecting(201))).body.token
    expect(await refused(read, 'git push -q origin HEAD:sets/new')).to.match(/403|read-only/)
  })

  it.deep('are refused by what is wrong with them, and leave nothing', async () => {
    const { change_set: foreign } = await open(bob, { nodes: [{ title: 'Foreign' }] })
    const push = (refs: string) => `git push -q origin ${refs}`
    expect(await refused(bob, push('HEAD:main HEAD:draft'))).to.include('new.git takes one branch')
    expect(await refused(bob, push('HEAD:draft'))).to.include('such as sets/7')
    expect(await refused(bob, 'git tag v1; git push -q origin v1')).to.include('new.git takes one branch')
    expect(await refused(cy, push(`HEAD:sets/${foreign.number}`))).to.include('no open change set')
    expect(await refused(bob, push('HEAD:sets/999'))).to.include('no open change set 999')
    expect(await refused(bob, `git rm -q node.json; commit x; ${push('HEAD:main')}`)).to.include('with its title')
    expect(await refused(bob, `echo '{}' > node.json; commit x; ${push('HEAD:main')}`)).to.include('node.json')
    const shallow = `echo x > x; commit x; git clone -q --depth 1 "file://$PWD" ../s; cd ../s; ${push('HEAD:main')}`
    expect(await refused(bob, shallow.replace('origin', '"$REMOTE"'))).to.include('shallow update not allowed')
  })

  it.deep('are for members who may propose', async () => {
    const [eve, rob] = [await signUp(grove, 'Eve'), await signUp(grove, 'Rob')]
    await ann.put(`/orgs/${ann.org}/members/${rob.user.email}`, { role: 'reader' }).then(expecting(200))
    const push = 'git push -q origin HEAD:main'
    expect(await refused(eve, push)).to.include('not found')
    expect(await refused(rob, push)).to.match(/403|contributor/)
    expect(await refused(undefined, push)).to.match(/Authentication|could not read Username/)
    const clone = await desk.sh('git clone -q "$REMOTE" c', { REMOTE: remoteUrl(grove, ann.org, 'new', tokenOf(bob)) })
    expect(clone.text).to.include('not found')
  })

  it.deep('leave nothing if the client goes away, or the quota is used up', async () => {
    const before = repositories()
    const commit = gitOf((await open(bob, { nodes: [{ title: 'Some' }] })).nodes[0].id)
    const oid = commit.commit({ files: { 'node.json': '{"title":"Cut"}' } })
    const pack = commit.run(['pack-objects', '--stdout', '-q', '--revs'], { input: oid })
    const kept = repositories()
    expect(kept).to.have.length(before.length + 1)
    const request = openService(grove, { org: ann.org, id: 'new' }, tokenOf(bob), 'git-receive-pack')
    request.on('error', () => undefined)
    request.write(
      Buffer.concat([
        pktLine(`${'0'.repeat(40)} ${oid} refs/heads/main\0 report-status`),
        flush,
        pack.subarray(0, -30),
      ]),
    )
    await until(async () => repositories().length === kept.length + 1)
    await until(async () => (await workingIn(grove.dataDir)).length > 0)
    request.destroy()
    await until(async () => repositories().length === kept.length)
    expect(repositories()).to.deep.equal(kept)
    for (let left = quotaNodes; left > 0; left--) {
      const { code, text } = await work(tokenOf(bob), 'git push -q origin HEAD:main')
      if (code === 0) continue
      expect(text).to.include(`has ${quotaNodes} of at most ${quotaNodes} nodes`)
      expect(repositories()).to.have.length(quotaNodes + 1)
      return
    }
    expect.fail('no push was refused')
  })
})
