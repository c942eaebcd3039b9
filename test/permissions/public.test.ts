/** Anonymous callers read a published organisation. */

import { expect } from 'chai'
import { made } from '../support/cast.ts'
import { gitIn } from '../support/git.ts'
import { grove, open, useScene } from './scene.ts'

describe('permissions', () => {
  useScene()

  describe('the public of a published organisation', () => {
    /** `draft` has draft.md; the tag `v1` a commit that is on no branch, with tagged.md. */
    let at: string
    let draftCommit: string
    const blobs: Record<'main' | 'draft' | 'tagged' | 'ledger', string> = {
      main: '',
      draft: '',
      tagged: '',
      ledger: '',
    }
    const readers = () => [open.people.anonymous, open.people.stranger]

    before(async () => {
      const { owner, org } = open
      const node = await made(
        owner.post(`/orgs/${org}/nodes`, { title: 'Whales', text_content: 'Whales are mammals.' }),
      )
      at = `/orgs/${org}/nodes/${node.id}`
      const commitOn = async (branch: string) => {
        await made(owner.post(`${at}/branches`, { name: branch }))
        const changes = [{ action: 'put', path: `${branch}.md`, content: `Of ${branch}` }]
        const { id, changes: diff } = await made(
          owner.post(`${at}/tree/${branch}/commits`, { message: branch, changes }),
        )
        return [id, diff.added[0].object_id]
      }
      const [tagged, taggedBlob] = await commitOn('tagged')
      const [draft, draftBlob] = await commitOn('draft')
      const git = gitIn(grove, org, node.id)
      git.say('update-ref', 'refs/tags/v1', tagged)
      await made(owner.delete(`${at}/branches/tagged`))
      draftCommit = draft
      const main = await made(owner.get(`${at}/tree/main/files/content.md`))
      const ledger = git.say('rev-parse', 'refs/grove/ledger:node.json')
      Object.assign(blobs, { main: main.object_id, draft: draftBlob, tagged: taggedBlob, ledger })
    })

    it('sees main in the list of branches, and no other', async () => {
      const asMember = await made(open.owner.get(`${at}/branches`))
      const [main] = asMember.branches.filter((branch: { name: string }) => branch.name === 'main')
      expect(asMember.total).to.equal(2)
      for (const reader of readers()) {
        expect(await reader.get(`${at}/branches`)).to.deep.equal({
          status: 200,
          body: { branches: [main], total: 1, limit: 50, offset: 0 },
        })
      }
    })

    it('finds nothing of another branch, exactly as if it did not exist', async () => {
      for (const reader of readers()) {
        for (const path of [
          'branches/BRANCH',
          'tree/BRANCH',
          'tree/BRANCH/files/draft.md',
          'tree/BRANCH/commits',
          `tree/BRANCH/commits/${draftCommit}`,
        ]) {
          const answer = await reader.get(`${at}/${path.replace('BRANCH', 'draft')}`)
          expect(answer, path).to.deep.equal({
            status: 404,
            body: { detail: 'Branch not found', code: 'branch_not_found' },
          })
          expect(await reader.get(`${at}/${path.replace('BRANCH', 'nowhere')}`), path).to.deep.equal(answer)
        }
      }
    })

    it('finds no commit of another branch, neither on main nor in a comparison', async () => {
      for (const reader of readers()) {
        expect((await reader.get(`${at}/tree/main/commits/${draftCommit}`)).body.code).to.equal('commit_not_found')
        for (const head of ['draft', draftCommit, draftCommit.slice(0, 10)]) {
          expect((await reader.get(`${at}/compare?base=main&head=${head}`)).status, head).to.equal(404)
        }
      }
    })

    it('sees tags, and compares with them', async () => {
      for (const reader of readers()) {
        expect((await made(reader.get(`${at}/tags`))).tags).to.have.length(1)
        expect((await made(reader.get(`${at}/compare?base=main&head=v1`))).commits_ahead).to.equal(1)
      }
    })

    it('reads the bytes that main or a tag has, and no others', async () => {
      for (const reader of readers()) {
        const statuses = Object.entries(blobs).map(async ([of, oid]) => [
          of,
          (await reader.get(`${at}/objects/${oid}`)).status,
        ])
        expect(Object.fromEntries(await Promise.all(statuses))).to.deep.equal({
          main: 200,
          draft: 404,
          tagged: 200,
          ledger: 404,
        })
      }
    })

    it('sees no role in the organisation', async () => {
      for (const reader of readers()) expect(await made(reader.get(`/orgs/${open.org}`))).to.not.have.property('role')
    })
  })
})
