/** Pages come into change sets by pushes of branches that are named after the set. The client is native git. */

import { expect } from 'chai'
import { prefixOf } from '../support/cast.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { expecting } from '../support/node.ts'
import type { PersonClient } from '../support/people.ts'
import { ann, aPage, bob, byPage, cy, di, gitOf, grove, open, pageAt, setOf, sets, useScene } from './scene.ts'

describe('pushes into change sets', () => {
  useScene()

  let desk: Desk
  before(async () => {
    desk = await newDesk()
  })
  after(() => desk.remove())

  /** Clones the page, changes its text, and runs the script there. */
  const work = (who: PersonClient, page: string, script: string, token = who.session.accessToken) =>
    desk.sh(
      `rm -rf w; git clone -q "$REMOTE" w; cd w; change() { echo "$1" > content.md; git add -A; git commit -q -m "$1"; }; ${script}`,
      { REMOTE: remoteUrl(grove, ann.org, page, token) },
    )
  const branches = (page: string) => gitOf(page).lines('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads')
  const pageOfSet = (number: number, what: string) =>
    new RegExp(`^remote: Change set ${number}${what}: ${grove.url}/o/[0-9A-Za-z]+/proposals/${number}$`, 'm')
  const numberIn = (text: string) => Number(/Change set (\d+)/.exec(text)?.[1])
  const actsOf = async (number: number) =>
    Object.fromEntries(
      Object.entries(byPage(await setOf(number))).map(([page, { act, source_branch }]) => [page, [act, source_branch]]),
    )

  it('open a set by `sets/new`', async () => {
    const page = await aPage('Krill')
    const { code, text } = await work(cy, page, `change Krill; git push -q origin HEAD:${prefixOf(cy)}sets/new`)
    expect(code, text).to.equal(0)
    expect(text).to.match(pageOfSet(numberIn(text), ' \\(draft\\), 1 page'))
    expect(await actsOf(numberIn(text))).to.deep.equal({ [page]: ['change', `${prefixOf(cy)}sets/${numberIn(text)}`] })
  })

  it.deep('add pages, and deletions by the empty tree, which merge together', async () => {
    const [whales, seals, old] = [await aPage('Whales'), await aPage('Seals'), await aPage('Old')]
    const first = await work(bob, whales, 'change "Whales eat krill"; git push -q origin HEAD:sets/new; git fetch -q')
    expect(first.code, first.text).to.equal(0)
    const number = numberIn(first.text)
    expect(first.text).to.match(pageOfSet(number, ' \\(draft\\), 1 page'))
    expect(branches(whales)).to.deep.equal(['main', `sets/${number}`])
    expect(await setOf(number)).to.include({ title: 'Whales eat krill', is_draft: true, author: 'Bob' })

    const second = await work(di, seals, `change "Seals eat fish"; git push origin HEAD:sets/${number}`)
    expect(second.text).to.match(pageOfSet(number, ' \\(draft\\), 2 pages')).and.include(`HEAD -> sets/${number}`)
    const empty = (branch: string) =>
      `git push -q origin $(git commit-tree -p HEAD -m Gone $(git mktree < /dev/null)):refs/heads/${branch}`
    const direct = await work(bob, old, empty('main'))
    expect(direct.text).to.include('remote: main: Propose the deletion: git push origin HEAD:sets/new\n')
    expect((await work(bob, old, empty(`sets/${number}`))).text).to.match(pageOfSet(number, ' \\(draft\\), 3 pages'))
    const branch = `sets/${number}`
    expect(await actsOf(number)).to.deep.equal({
      [whales]: ['change', branch],
      [seals]: ['change', branch],
      [old]: ['delete', branch],
    })

    const again = await work(bob, whales, `git checkout -q ${branch}; change "Whales eat fish"; git push -q`)
    expect(again.text).to.match(pageOfSet(number, ' \\(draft\\), 3 pages')).and.include('Pull request 1: ')
    await bob.patch(`${sets}/${number}`, { is_draft: false }).then(expecting(200))
    await di.post(`${sets}/${number}/merge`).then(expecting(200))
    expect(gitOf(whales).say('show', 'main:content.md')).to.equal('Whales eat fish')
    expect((await ann.get(pageAt(old))).status).to.equal(404)
    for (const page of [whales, seals]) gitOf(page).fsck()
  })

  it.deep('show the name that `sets/new` gets', async () => {
    const page = await aPage('Names')
    const { text } = await work(bob, page, 'change One; git push origin HEAD:sets/new')
    expect(text).to.include(`[new branch]      HEAD -> sets/${numberIn(text)}\n`)
    const { text: trace } = await work(
      bob,
      await aPage('Trace'),
      'change Two; GIT_TRACE_PACKET=1 git push origin HEAD:sets/new',
    )
    expect(trace).to.match(/option refname refs\/heads\/sets\/\d+/)
  })

  it.deep('are for the opener and editors, each below the prefix of their branches', async () => {
    const page = await aPage('Otters')
    const own = prefixOf(cy)
    const { change_set: foreign } = await open(bob, { nodes: [{ title: 'Minks' }] })
    const refused = `(there is no open change set ${foreign.number} that you can change)`
    const other = await work(cy, page, `change Otters; git push origin HEAD:${own}sets/${foreign.number}`)
    expect(other.text).to.include(`${own}sets/${foreign.number} ${refused}`)
    expect((await work(cy, page, 'change Otters; git push origin HEAD:sets/new')).text).to.include(
      `(Contributors can change only branches below ${own}; push there: git push origin HEAD:${own}sets/new)`,
    )
    expect((await work(bob, page, 'change Otters; git push origin HEAD:sets/999')).text).to.include('set 999 that you')
    expect(branches(page)).to.deep.equal(['main'])
    const made = await work(cy, page, `change Otters; git push -q origin HEAD:${own}sets/new`)
    const number = numberIn(made.text)
    expect(await actsOf(number)).to.deep.equal({ [page]: ['change', `${own}sets/${number}`] })
    await bob.patch(`${sets}/${number}`, { status: 'closed' }).then(expecting(200))
    const late = await work(cy, await aPage('Late'), `change Late; git push origin HEAD:${own}sets/${number}`)
    expect(late.text).to.include(`(there is no open change set ${number} that you can change)`)
  })

  it.deep('are open to tokens that propose, for own sets', async () => {
    const { token } = (await bob.post('/auth/tokens', { name: 'Agent', access: 'propose' }).then(expecting(201))).body
    const [page, other] = [await aPage('Agents'), await aPage('Bots')]
    const { text } = await work(bob, page, 'change Agents; git push -q origin HEAD:agent/sets/new', token)
    const number = numberIn(text)
    expect(await setOf(number)).to.deep.include({ author: 'Bob' })
    expect((await setOf(number)).opened_via).to.include({ door: 'push', by: 'token' })
    const more = await work(bob, other, `change Bots; git push -q origin HEAD:agent/sets/${number}`, token)
    expect(more.text).to.match(pageOfSet(number, ' \\(draft\\), 2 pages'))
    const { change_set: foreign } = await open(di, { nodes: [{ title: 'Foreign' }] })
    const refused = await work(bob, other, `change More; git push -q origin HEAD:agent/sets/${foreign.number}`, token)
    expect(refused.text).to.include(`no open change set ${foreign.number} that you can change`)
  })

  it.deep('leave a branch of such a name that existed before as it was, and say so', async () => {
    const page = await aPage('Before')
    const { change_set: set } = await open(bob, { nodes: [{ title: 'Newer' }] })
    const branch = `sets/${set.number}`
    gitOf(page).point(branch, gitOf(page).head())
    const moved = await work(bob, page, `git checkout -q ${branch}; change Moved; git push -q origin ${branch}`)
    expect(moved.code, moved.text).to.equal(0)
    expect(moved.text).to.include(`remote: ${branch} existed before, so it joined no change set;`)
    expect((await setOf(set.number)).num_items).to.equal(1)
    const anew = await work(bob, page, `git push -q origin :${branch}; change Anew; git push -q origin HEAD:${branch}`)
    expect(anew.text).to.match(pageOfSet(set.number, ', 2 pages'))
  })

  it.deep('take a page into one set, and each branch alone', async () => {
    const page = await aPage('Once')
    const { text } = await work(bob, page, 'change Once; git push -q origin HEAD:sets/new')
    const number = numberIn(text)
    const second = await work(bob, page, 'change Twice; git push -q origin HEAD:sets/new')
    expect(second.text).to.include(
      `is in change set ${number} (“Once”) already, and a page is in one at a time; push to sets/${number})`,
    )
    const other = await work(cy, page, `change Thrice; git push origin HEAD:${prefixOf(cy)}sets/new`)
    expect(other.text).to.include(`is in change set ${number} (“Once”) already, and a page is in one at a time)`)
    const both = await work(bob, await aPage('Both'), 'change B; git push -q --atomic origin HEAD:sets/new HEAD:draft')
    expect(both.text).to.include('(push this branch without --atomic, because its change set moves with it)')
    const page2 = await aPage('Apart')
    await work(bob, page2, `change C; git push -q origin HEAD:sets/${number} HEAD:draft`)
    expect(branches(page2)).to.deep.equal(['draft', 'main', `sets/${number}`])
  })

  it.deep('merge an item alone where no rule holds, and only with its set where one does', async () => {
    const [free, ruled] = [await aPage('Free'), await aPage('Ruled')]
    const { text } = await work(bob, free, 'change Free; git push -q origin HEAD:sets/new')
    const number = numberIn(text)
    await work(bob, ruled, `change Ruled; git push -q origin HEAD:sets/${number}`)
    await bob.patch(`${sets}/${number}`, { is_draft: false }).then(expecting(200))
    await ann.patch(`/orgs/${ann.org}`, { rules: [{ branches: ['main'], under: ruled }] }).then(expecting(200))
    const toMain = `git fetch -q; git push origin origin/sets/${number}:main`
    const refused = await work(bob, ruled, toMain)
    expect(refused.text).to.include(`-> main (pull request 1 merges with change set ${number})`)
    expect((await work(bob, free, toMain)).text).to.include('Pull request 1 is merged')
    expect(byPage(await setOf(number))[free]).to.include({ status: 'merged' })
    await ann.patch(`/orgs/${ann.org}`, { rules: [] }).then(expecting(200))
    const { change_set: set, nodes } = await open(bob, { nodes: [{ title: 'Krill' }] })
    const branch = set.items[0].source_branch
    const closed = await work(bob, nodes[0].id, `git checkout -q ${branch}; change K; git push origin HEAD:main`)
    expect(closed.text).to.include(`this page is proposed; push to ${branch}`)
  })
})
