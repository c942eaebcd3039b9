import { existsSync } from 'node:fs'
import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { looseFile } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

describe('git: a repository that exists moves in', () => {
  let grove: Grove
  let ann: PersonClient
  let node: TestNode
  let desk: Desk

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
    node = await newNode(grove, ann, { title: 'Moved in', initialize: false })
    desk = await newDesk()
    await desk.done(`
      git init -q old; cd old
      echo '# Old thing' > README.md; mkdir -p src/deep
      printf '#!/bin/sh\\n' > src/run.sh; chmod +x src/run.sh; ln -s ../README.md src/readme; echo Makefile > Makefile; echo makefile > makefile
      git add -A; git commit -q -m 'The first'
      git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),vendor; printf '[submodule "vendor"]\\n\\tpath = vendor\\n\\turl = https://example.org/v.git\\n' > .gitmodules
      printf '*.md text\\n' > .gitattributes
      git add .gitmodules .gitattributes; git commit -q -m 'A submodule'
      for n in 1 2 3; do
        git checkout -q -b side$n HEAD~1; echo $n > side$n; git add side$n; git commit -q -m "Side $n"
        git checkout -q main; git merge -q --no-ff -m "Merge $n" side$n
      done
      git tag light HEAD~2; git tag -a -m 'Signed off' v1.0; printf 'caf\\351' > src/latin; git add -A; git commit -q -m 'Latin'`)
  })
  after(async () => {
    await desk.remove()
    await grove.close()
  })

  it('whole, with its first push: branches, tags, merges', async () => {
    const REMOTE = remoteUrl(grove, node.org, node.id, ann.session.accessToken)
    await desk.done('cd old; git remote add origin $REMOTE; git push -q --all origin; git push -q --tags origin', {
      REMOTE,
    })
    const refs = "for-each-ref --format='%(refname) %(objectname)' refs/heads refs/tags"
    expect(await desk.done(`git -C old ${refs}; git clone -q --mirror $REMOTE new`, { REMOTE })).to.equal(
      await desk.done(`git -C new ${refs}`),
    )
    node.git.fsck()
  })

  it('with a file of 2 MB in the pack that brought it, which no clone has to compress again; what is small lies loose', async () => {
    const isLoose = (what: string) => {
      const oid = node.git.say('rev-parse', what)
      return existsSync(looseFile(node.git, oid))
    }
    await desk.done(`cd old; git checkout -q -b large; head -c 2000000 /dev/urandom > large.bin; git add large.bin
      git commit -q -m Large; git push -q origin large; git checkout -q main`)
    expect([isLoose('large:large.bin'), isLoose('large'), isLoose('main')]).to.deep.equal([false, false, true])
  })

  it('with its history, in the order of git log', async () => {
    const { body } = await ann.get(`${node.at}/tree/main/commits`)
    expect(body.history.map((commit: { id: string }) => commit.id)).to.deep.equal(node.git.log())
    expect(body.total).to.equal(node.git.log().length)
  })

  it('with details of each commit as git diff-tree has them', async () => {
    for (const oid of node.git.log()) {
      const { body } = await ann.get(`${node.at}/tree/main/commits/${oid}`)
      const { added, removed, modified } = body.changes
      const paths = [...added, ...removed, ...modified].map((entity: { entity_key: string }) => entity.entity_key)
      const [, parent] = node.git.say('rev-list', '--parents', '-n1', oid).split(' ')
      const from = parent ?? '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
      const expected = node.git.lines('diff-tree', '-r', '--no-renames', '--name-only', from, oid)
      expect(paths.sort()).to.deep.equal(expected.sort())
    }
  })

  it('with executables, links and submodules as inert files', async () => {
    const { body } = await ann.get(`${node.at}/tree/main`)
    const modes = body.entities.map((entity: { entity_key: string; mode: string; entity_type: string }) => [
      entity.entity_key,
      entity.mode,
      entity.entity_type,
    ])
    expect(modes).to.deep.include.members([
      ['src/run.sh', '100755', 'file'],
      ['src/readme', '120000', 'file'],
      ['vendor', '160000', 'file'],
      ['Makefile', '100644', 'file'],
      ['makefile', '100644', 'file'],
    ])
  })

  it('is compared and searched like any other, under the title that it was given', async () => {
    const { body } = await ann.get(`${node.at}/compare?base=light&head=v1.0`)
    expect([body.commits_ahead, body.commits_behind]).to.deep.equal([
      node.git.lines('rev-list', 'v1.0', '^light').length,
      0,
    ])
    const { body: found } = await ann.post(`/orgs/${node.org}/search/retrieve`, { query: 'old thing' })
    expect(found.matches[0]).to.include({ node_id: node.id, title: 'Moved in' })
  })

  it('is edited over REST from then on', async () => {
    const head = await node.commit('main', { 'node.json': '{"title": "Renamed"}\n' })
    expect(await desk.done('cd old; git pull -q origin main; git rev-parse HEAD')).to.equal(`${head}\n`)
    expect((await ann.get(node.at)).body.title).to.equal('Renamed')
  })
})
