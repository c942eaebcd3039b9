import { expect } from 'chai'
import { type Desk, newDesk, remoteUrl } from '../support/desk.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

describe('git: a published organisation', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  let desk: Desk
  let URL: string
  /** Heads of a branch that the public is not shown, and of one that is gone but for the request that it was closed with. */
  let secret: string
  let closed: string

  before(async () => {
    node = await newNode(grove, ann, { text_content: 'Whales are mammals.\n' })
    for (const text of ['one', 'two', 'three'])
      await node.commit('main', { 'story.txt': `${text}\n`, [`${text}.txt`]: text })
    secret = await node.proposal('secret')
    closed = await node.proposal('closed')
    await node.open('closed')
    await ann.delete(`${node.at}/branches/closed`)
    node.git.say('tag', '-a', '-m', 'first', 'v1', 'main~1')
    desk = await newDesk('Nobody')
    URL = remoteUrl(grove, node.org, node.id)
  })
  after(() => desk.remove())

  it('asks for a name while it is not published, also if there is none', async () => {
    const ask = async (url: string) => (await desk.sh(`git ls-remote ${url}`)).text.replace(/'http.*'/, 'URL')
    expect(await ask(URL)).to.equal('fatal: could not read Username for URL: terminal prompts disabled\n')
    const nowhere = remoteUrl(grove, '00000000-0000-4000-8000-000000000000', node.id)
    expect(await ask(nowhere)).to.equal(await ask(URL))
  })

  describe('once it is published', () => {
    before(() => ann.patch(`/orgs/${node.org}`, { published: true }))

    for (const version of [0, 1, 2]) {
      it(`is cloned by anybody over protocol v${version}: main and tags, nothing else`, async () => {
        const to = `v${version}`
        await desk.done(`git -c protocol.version=${version} clone -q --mirror ${URL} ${to}`)
        expect(await desk.done(`git -C ${to} for-each-ref --format='%(refname)'`)).to.equal(
          'refs/heads/main\nrefs/tags/v1\n',
        )
        expect(await desk.done(`git -C ${to} rev-list main`)).to.equal(
          `${node.git.lines('rev-list', 'main').join('\n')}\n`,
        )
        await desk.done(`git -C ${to} fsck --full --strict`)
      })

      it(`does not give what is hidden by its id over v${version}`, async () => {
        for (const oid of [
          secret,
          closed,
          node.git.say('rev-parse', `${secret}^{tree}`),
          node.git.say('rev-parse', 'refs/grove/ledger'),
        ]) {
          const { code, text } = await desk.sh(
            `git init -q h; git -C h -c protocol.version=${version} fetch -q ${URL} ${oid}; rm -rf h`,
          )
          expect(code, text).to.equal(128)
        }
      })
    }

    it('is cloned shallow, deepened, as a single branch, and at a tag', async () => {
      await desk.done(`git clone -q --depth 2 ${URL} shallow`)
      expect(await desk.done('git -C shallow rev-list --count HEAD')).to.equal('2\n')
      await desk.done('git -C shallow fetch -q --unshallow')
      expect(await desk.done('git -C shallow rev-list --count HEAD')).to.equal('4\n')
      await desk.done(`git clone -q --single-branch --branch v1 ${URL} tagged`)
      expect(await desk.done('git -C tagged rev-list --count HEAD; ls tagged')).to.equal(
        '3\ncontent.md\nnode.json\none.txt\nstory.txt\ntwo.txt\n',
      )
    })

    it.deep('is cloned without its files, which are fetched on demand, also old ones', async () => {
      await desk.done(`git clone -q --filter=blob:none ${URL} lazy`)
      expect(await desk.done('cat lazy/story.txt; git -C lazy log -p --format=%s story.txt | grep "^+[a-z]"')).to.equal(
        'three\n+three\n+two\n+one\n',
      )
      await desk.done(`git clone -q --filter=tree:0 ${URL} treeless; cat treeless/three.txt`)
    })

    it('serves no filter that costs more than it saves', async () => {
      expect((await desk.sh(`git clone --filter=sparse:oid=main:node.json ${URL} sparse`)).code).to.equal(128)
    })

    it('is pushed to by nobody', async () => {
      const { text } = await desk.sh('cd shallow; git push origin HEAD:refs/heads/x')
      expect(text).to.include('could not read Username')
    })

    /** Git sends a token unasked only so: what answers without one is never asked with it. */
    const withToken = (token: string, command: string) =>
      `git -c http.extraHeader='Authorization: Bearer ${token}' ${command}`

    it('refuses a bad token, and is never silently anonymous', async () => {
      expect((await desk.sh(withToken('grv_bad', `ls-remote ${URL}`))).text).to.include('could not read Username')
    })

    it('shows a stranger what it shows everybody, and members their branches', async () => {
      const refs = async (person: PersonClient) =>
        (await desk.done(withToken(person.session.accessToken, `ls-remote ${URL}`)))
          .split('\n')
          .flatMap((line) => line.split('\t').slice(1))
      const bob = await signUp(grove, 'Bob')
      expect(await refs(bob)).to.deep.equal(['HEAD', 'refs/heads/main', 'refs/tags/v1', 'refs/tags/v1^{}'])
      await ann.put(`/orgs/${node.org}/members/bob@example.org`, { role: 'reader' })
      expect(await refs(bob)).to.deep.equal([
        'HEAD',
        'refs/heads/main',
        'refs/heads/secret',
        'refs/tags/v1',
        'refs/tags/v1^{}',
      ])
      expect(await refs(ann)).to.deep.equal([
        'HEAD',
        'refs/grove/ledger',
        'refs/grove/pulls/1',
        'refs/heads/main',
        'refs/heads/secret',
        'refs/tags/v1',
        'refs/tags/v1^{}',
      ])
    })

    it('keeps org.git to its owners, and writes it for nobody', async () => {
      const org = (person?: PersonClient) => remoteUrl(grove, node.org, 'org', person?.session.accessToken)
      expect((await desk.sh(`git ls-remote ${org()}`)).text).to.include('could not read Username')
      const eve = await signUp(grove, 'Eve')
      await ann.put(`/orgs/${node.org}/members/eve@example.org`, { role: 'maintainer' })
      expect((await desk.sh(`git ls-remote ${org(eve)}`)).text).to.include('You need the owner role')
      await desk.done(`git clone -q ${org(ann)} org; cat org/org.json`)
      expect(
        (await desk.sh(`cd org; git commit -q --allow-empty -m x; git push ${org(ann)} HEAD:main`)).text,
      ).to.include('Only the service can write to org.git')
    })

    it('is hidden again the moment it is unpublished', async () => {
      await ann.patch(`/orgs/${node.org}`, { published: false })
      expect((await desk.sh('cd shallow; git fetch')).text).to.include('could not read Username')
    })
  })

  it('has three routes, and no dumb protocol', async () => {
    await ann.patch(`/orgs/${node.org}`, { published: true })
    const at = `/git/${node.org}/${node.id}`
    const get = async (path: string) => {
      const { status, headers } = await client(grove).get(path)
      return `${status} ${headers['content-type']}`
    }
    const fine = '200 application/x-git-upload-pack-advertisement'
    expect(await get(`${at}.git/info/refs?service=git-upload-pack`)).to.equal(fine)
    expect(await get(`${at}/info/refs?service=git-upload-pack`)).to.equal(fine)
    for (const query of [
      '',
      '?service=git-upload-archive',
      '?service=',
      '?service=git-upload-pack&service=git-upload-pack',
    ])
      expect(await get(`${at}.git/info/refs${query}`), query).to.equal('403 text/plain; charset=utf-8')
    for (const path of [
      '/HEAD',
      '/objects/info/packs',
      '/config',
      '/info/refs/',
      '/git-upload-archive',
      '',
      '/..%2f..%2fcredentials.sqlite/info/refs?service=git-upload-pack',
    ])
      expect(await get(`${at}.git${path}`), path).to.equal('404 text/plain; charset=utf-8')
    for (const name of ['..', '%2e%2e%2f%2e%2e%2fx', '../../x', 'a'.repeat(10_000), '__proto__', '%00'])
      expect(
        (await get(`/git/${node.org}/${name}.git/info/refs?service=git-upload-pack`)).slice(0, 3),
        name,
      ).to.be.oneOf(['404', '401'])
    expect(await get(`${at}.git/git-upload-pack`)).to.equal('405 text/plain; charset=utf-8')
    const { status } = await client(grove).post(`${at}.git/git-upload-pack`, {})
    expect(status).to.equal(415)
  })
})
