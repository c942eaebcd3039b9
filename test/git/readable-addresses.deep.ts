/** Clone URLs that end in a readable name: what git makes of them, and that the id alone chooses what is read. */

import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { remoteUrl } from '../support/desk.ts'
import { startGrove } from '../support/grove.ts'
import { newNode } from '../support/node.ts'
import { client, signUp } from '../support/people.ts'
import { ann, desk, grove, useScene } from './scene.ts'

describe('git: readable addresses', () => {
  useScene()

  const signedIn = (url: string) => url.replace('://', `://git:${ann.session.accessToken}@`)
  const make = async (title: string, text_content = 'Of the sea.\n') => newNode(grove, ann, { title, text_content })
  const cloneUrl = async (at: string): Promise<string> => (await ann.get(at)).body.clone_url

  it('name the folder of a clone, which fetches and pushes, also once the title is another', async () => {
    const { at, git } = await make('Blue whale')
    await desk.done(
      `git clone -q $URL; cd blue-whale; echo More. >> content.md; git commit -q -a -m More; git push -q`,
      { URL: signedIn(await cloneUrl(at)) },
    )
    expect(git.say('show', 'main:content.md')).to.equal('Of the sea.\nMore.')
    await ann.patch(at, { title: 'Fin whale' })
    expect(await cloneUrl(at)).to.match(/\/fin-whale\.git$/)
    const said = await desk.done(
      `cd blue-whale; git pull -q; cat node.json; echo Still. >> content.md; git commit -q -a -m Still; git push -q`,
    )
    expect([JSON.parse(said).title, git.say('show', 'main:content.md')]).to.deep.equal([
      'Fin whale',
      'Of the sea.\nMore.\nStill.',
    ])
  })

  it('name it in the letters of the title, in any script', async () => {
    const { at } = await make('鲸鱼 — Süßwasser')
    const said = await desk.done('git clone -q $URL; cat 鲸鱼-süßwasser/content.md', {
      URL: signedIn(await cloneUrl(at)),
    })
    expect(said).to.equal('Of the sea.\n')
  })

  it('read what the id says: without a slug, and with that of another node', async () => {
    const [whales, krill] = [await make('Whales', 'Whales.\n'), await make('Krill', 'Krill.\n')]
    const base = remoteUrl(grove, ann.org, whales.id, ann.session.accessToken).replace(/\.git$/, '')
    const ends = [
      '',
      '.git',
      '/krill.git',
      '/krill',
      `/${krill.id}.git`,
      '/%E9%B2%B8.git',
      '/org.git',
      '/..%2Fx.git',
      '/info',
    ]
    for (const [at, end] of ends.entries()) {
      const said = await desk.done(
        `git clone -q $URL w${at}; cd w${at}; cat content.md; git switch -q -c b${at}; git push -q origin b${at}; git fetch -q`,
        { URL: `${base}${end}` },
      )
      expect(said, end).to.equal('Whales.\n')
    }
    expect(whales.git.say('for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')).to.deep.equal(
      [...ends.keys()].map((at) => `b${at}`).concat('main'),
    )
    expect(krill.git.say('for-each-ref', '--format=%(refname:short)', 'refs/heads')).to.equal('main')
  })

  it('open nothing that the id does not', async () => {
    const { id } = await make('Whales')
    const ben = await signUp(grove, 'Ben')
    const info = 'info/refs?service=git-upload-pack'
    for (const end of ['whales.git', 'x.git', 'org.git']) {
      expect((await client(grove).get(`/git/${ann.org}/${id}/${end}/${info}`)).status, end).to.equal(401)
      expect((await ben.get(`/git/${ann.org}/${id}/${end}/${info}`)).status, end).to.equal(404)
    }
    for (const path of [
      `${ann.org}/x/${id}.git`,
      `${ann.org}/${id}.git/whales.git`,
      `${ann.org}/${id}/a/whales.git`,
      `${ann.org}/${id}//`,
      `${ben.org}/${id}/whales.git`,
    ])
      expect((await ann.get(`/git/${path}/${info}`)).status, path).to.equal(404)
  })

  it('with a token of one node, open only that node', async () => {
    const [whales, krill] = [await make('Whales'), await make('Krill')]
    const { body } = await ann.post('/auth/tokens', {
      name: 'Script',
      access: 'read',
      org_id: ann.org,
      node_id: whales.id,
    })
    const status = async (path: string) =>
      (
        await client(grove).get(`/git/${ann.org}/${path}/info/refs?service=git-upload-pack`, {
          authorization: `Bearer ${body.token}`,
        })
      ).status
    expect([await status(`${whales.id}/krill.git`), await status(`${krill.id}/whales.git`)]).to.deep.equal([200, 403])
    expect(await status(`${krill.id}/${whales.id}.git`)).to.equal(403)
  })

  it('answer Git LFS as the URL with only the id does', async () => {
    const answer = await client(grove).post('/git/x/y/whales.git/info/lfs/objects/batch', { operation: 'upload' })
    expect([answer.status, answer.body]).to.deep.equal([
      501,
      (await client(grove).post('/git/x/y.git/info/lfs/objects/batch', { operation: 'upload' })).body,
    ])
  })

  it('lead through a proxy that serves the service below a path', async () => {
    let inner = ''
    const proxy = createServer((req, res) => {
      if (!req.url?.startsWith('/grove/')) {
        res.writeHead(404).end()
        return
      }
      const { method, headers } = req
      const onwards = request(inner + req.url.slice('/grove'.length), { method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      })
      onwards.on('error', () => res.destroy())
      req.pipe(onwards)
    })
    const port = await listening(proxy)
    const behind = await startGrove({ publicUrl: `http://127.0.0.1:${port}/grove` })
    inner = behind.url
    try {
      const zoe = await signUp(behind, 'Zoe')
      const { id, at, git } = await newNode(behind, zoe, { title: 'Minke whale' })
      const url = (await zoe.get(at)).body.clone_url
      expect(url).to.equal(`http://127.0.0.1:${port}/grove/git/${zoe.org}/${id}/minke-whale.git`)
      await desk.done(
        'git clone -q $URL; cd minke-whale; echo More. > content.md; git add .; git commit -q -m More; git push -q',
        { URL: url.replace('://', `://git:${zoe.session.accessToken}@`) },
      )
      expect(git.say('show', 'main:content.md')).to.equal('More.')
    } finally {
      await behind.close()
      proxy.closeAllConnections()
      proxy.close()
    }
  })

  it('leave mirrors of nodes with one title a folder each', async () => {
    const zoe = await signUp(grove, 'Zoe')
    for (const _ of [1, 2]) await newNode(grove, zoe, { title: 'Whales' })
    const said = await desk.done(
      `mkdir copies; cd copies; echo "$URLS" | xargs -n1 git -c http.extraHeader="Authorization: Bearer $TOKEN" clone -q --mirror; ls | wc -l`,
      {
        URLS: (await zoe.get(`/orgs/${zoe.org}/clone-urls`)).body.trim(),
        TOKEN: zoe.session.accessToken,
      },
    )
    expect(said.trim()).to.equal('3')
  })
})

function listening(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
