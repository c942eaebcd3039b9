/** Nodes that are only proposed: what members do with them, and what nobody can. */

import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { noOid } from '../../gitstore/repo.ts'
import { made } from '../support/cast.ts'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import type { Client, PersonClient } from '../support/people.ts'
import { type Proposed, proposeNode } from '../support/proposed.ts'
import { grove, noNode, open, hidden as unpublished, useScene } from './scene.ts'

describe('a node that is only proposed', () => {
  useScene()
  let desk: Desk
  let node: Proposed
  let at: string
  before(async () => {
    desk = await newDesk()
  })
  beforeEach(() => {
    node = proposeNode(grove, open.org, {
      ...{ by: open.members.contributor.user, title: 'Krill', fields: { tags: ['sea'] }, branch: 'sets/7' },
      files: { 'content.md': 'Small.\n', [`parents/${open.node}.json`]: '{"label": "eaten by"}' },
    })
    at = `/orgs/${open.org}/nodes/${node.id}`
  })
  after(() => desk?.remove())

  it('is read by members who ask for it, as its branch has it', async () => {
    const { anonymous, stranger, reader } = open.people
    const { status, body } = await reader.get(`${at}?proposed=true`)
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({
      title: 'Krill',
      text_content: 'Small.\n',
      state: 'proposed',
      proposed_in: node.changeSet,
    })
    expect(body).to.not.have.property('head')
    expect([body.tags, body.parents.map(({ id }: { id: string }) => id)]).to.deep.equal([['sea'], [open.node]])
    for (const who of [anonymous, stranger]) expect(await who.get(`${at}?proposed=true`)).to.deep.equal(noNode)
    expect((await reader.get(`/orgs/${open.org}/nodes/${open.node}?proposed=true`)).body).to.not.have.property('state')
  })

  it('has a pull request whose target does not exist, with all commits and files', async () => {
    const { reader } = open.people
    const { pr } = await made(reader.get(`${at}/pull-requests/1`))
    expect(pr).to.include({ target_commit: noOid, commits_ahead: 1, status: 'open', can_merge: false })
    const { commits } = await made(reader.get(`${at}/pull-requests/1/commits`))
    expect(commits.map(({ id }: { id: string }) => id)).to.deep.equal([node.head])
    const compared = await made(reader.get(`${at}/compare?base=${noOid}&head=sets/7`))
    expect(compared).to.include({ merge_base: null, commits_ahead: 1, commits_behind: 0 })
    expect(compared.changes.added).to.have.length(3)
    const { pull_requests } = await made(reader.get(`/orgs/${open.org}/pull-requests?limit=100`))
    expect(pull_requests).to.deep.include.members([
      { ...pull_requests.find((one: { node_id: string }) => one.node_id === node.id), node_title: 'Krill' },
    ])
  })

  it('is commented, reviewed, checked and changed on its branch', async () => {
    const { editor, contributor } = open.members
    const pull = `${at}/pull-requests/1`
    const anchor = { commit: node.head, path: 'content.md', first_line: 1 }
    await made(editor.post(`${pull}/comments`, { text: 'How small?', anchor }))
    const { consent } = await approve(editor)
    expect(consent).to.include({ approvals: 1 })
    await made(editor.put(`${at}/checks/${node.head}/links`, { state: 'success' }))
    const changes = [{ action: 'put', path: 'content.md', content: 'Two centimetres.\n' }]
    await made(editor.post(`${at}/tree/sets%2F7/commits`, { message: 'Say how small', changes }))
    const { pr } = await made(contributor.get(pull))
    expect(pr).to.include({ commits_ahead: 2, open_threads: 1, target_commit: noOid })
    expect(pr.consent.verdicts[0]).to.include({ state: 'stale' })
    expect((await made(contributor.get(`${at}?proposed=true`))).text_content).to.equal('Two centimetres.\n')
    await made(contributor.patch(pull, { status: 'closed' }))
    expect((await made(contributor.get(pull))).pr).to.include({ status: 'closed', target_commit: noOid })
  })

  const approve = async (who: Client) => {
    const body = { text: '', verdict: 'approve', expected_source_commit: node.head }
    await made(who.post(`${at}/pull-requests/1/reviews`, body))
    return (await made(who.get(`${at}/pull-requests/1`))).pr
  }

  it('counts no approval of an author of its commits', async () => {
    const { editor } = open.members
    const files = { 'content.md': 'Smaller.\n' }
    const author = `${editor.user.name} <${editor.user.email}>`
    const commit = node.git.commit({ files, parents: [node.head] })
    const written = node.git.say('cat-file', 'commit', commit).replace(/^author .*> /m, `author ${author} `)
    const head = node.git
      .run(['hash-object', '-t', 'commit', '-w', '--stdin'], { input: `${written}\n` })
      .toString()
      .trim()
    node.git.point('sets/7', head)
    await made(open.owner.patch(`/orgs/${open.org}`, { rules: [{ branches: ['main'], approvals: 1 }] }))
    node = { ...node, head }
    const { consent } = await approve(editor).finally(() => open.owner.patch(`/orgs/${open.org}`, { rules: [] }))
    expect(consent.verdicts[0]).to.include({ counts: false, why: 'own_commit' })
  })

  it('keeps main closed to commits and new branches, and its id taken', async () => {
    const { owner } = open
    const changes = [{ action: 'put', path: 'content.md', content: 'Mine.\n' }]
    const refusals = [
      await owner.post(`${at}/tree/main/commits`, { message: 'Mine', changes }),
      await owner.post(`${at}/branches`, { name: 'main', from: 'sets/7' }),
    ]
    for (const { status, body } of refusals)
      expect([status, body.code, body.detail]).to.deep.equal([
        ...[409, 'pull_request_required', 'This page is proposed; its `main` comes with its change set'],
      ])
    expect((await owner.post(`${at}/pull-requests/1/merge`)).body.code).to.equal('in_change_set')
    expect((await owner.post(`/orgs/${open.org}/nodes`, { id: node.id, title: 'Mine' })).body.code).to.equal(
      'node_exists',
    )
    expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/sets/7'])
  })

  it('is in the list of repositories of owners, who mirror it with the organisation', async () => {
    const listed = async (who: Client, query = '') => {
      const { repositories, total } = await made(who.get(`/orgs/${open.org}/repositories?limit=100${query}`))
      const ids = repositories.map(({ node_id }: { node_id?: string }) => node_id)
      return { ids, total, place: ids.indexOf(node.id) }
    }
    await made(open.owner.get(`${at}?proposed=true`))
    const all = await listed(open.owner)
    expect(all.ids).to.have.length(all.total)
    expect((await listed(open.owner, `&offset=${all.place}`)).ids[0]).to.equal(node.id)
    expect((await made(open.owner.get(`/orgs/${open.org}/clone-urls`))).trim().split('\n')).to.have.length(all.total)
    expect((await listed(open.members.maintainer)).ids).to.not.include(node.id)
  })

  it('is cloned and pushed by members, except to main', async () => {
    const { org, members, guest } = unpublished
    const own = proposeNode(grove, org, { by: members.editor.user, title: 'Krill' })
    const remote = (who: PersonClient) => remoteUrl(grove, org, own.id, who.session.accessToken)
    const folder = randomUUID()
    const env = { REMOTE: remote(members.editor), NOBODY: remote(guest), FOLDER: folder }
    const { text } = await desk.sh(
      `git ls-remote $NOBODY || true
       git clone -q -b sets/7 $REMOTE $FOLDER; cd $FOLDER; cat content.md
       git commit -q --allow-empty -m more; git push -q origin sets/7
       git push -q origin HEAD:main`,
      env,
    )
    expect(text).to.include('About Krill.\n').and.include('[remote rejected] HEAD -> main (this page is proposed;')
    expect(text).to.include('not found').and.not.include('has no branch')
    expect(own.git.log('sets/7')).to.have.length(2)
    // The author of the commit is another user than the one who pushed it.
    expect(own.git.lines('ls-tree', '-r', '--name-only', 'refs/grove/ledger', 'pushed/')).to.have.length(1)
  })
})
