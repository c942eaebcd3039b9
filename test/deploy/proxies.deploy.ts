/** The proxies of server/deploy/, started for real with TLS. */

import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect } from 'chai'
import { logMigrations } from '../../index/log/migrations.ts'
import type { LogSchema } from '../../index/log/schema.ts'
import { openDatabase } from '../../index/sqlite/database.ts'
import { anEvent, append } from '../events/scene.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Desk, newDesk } from '../support/desk.ts'
import { follow } from '../support/event-stream.ts'
import { password } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'
import {
  type Asking,
  ask,
  askJson,
  type Certificate,
  freePort,
  newCertificate,
  proxies,
  type RunningProxy,
  removeCertificate,
  signUp,
} from './scene.ts'

for (const [name, start] of Object.entries(proxies)) {
  for (const prefix of ['', '/grove']) {
    describe(`behind ${name}${prefix === '' ? '' : ', below a path'}`, () => {
      let certificate: Certificate
      let ca: Buffer
      let dataDir: string
      let grove: SpawnedGrove
      let proxy: RunningProxy
      let desk: Desk
      let base: string

      before(async () => {
        certificate = await newCertificate()
        ca = await readFile(certificate.certificate)
        dataDir = await newDataDir()
        desk = await newDesk()
        const [port, upstream] = [await freePort(), await freePort()]
        base = `https://localhost:${port}${prefix}`
        const environment = { PUBLIC_URL: base, TRUST_PROXY: '127.0.0.1', RATE_LIMIT: 'on', PORT: String(upstream) }
        grove = await spawnGrove(dataDir, environment)
        proxy = await start({ certificate, port, upstream, prefix })
      })
      after(async () => {
        await proxy.stop()
        await grove.stop()
        await desk.remove()
        await rm(dataDir, { recursive: true, force: true })
        await removeCertificate(certificate)
      })

      const asked = (path: string, asking: Asking = {}) => askJson(`${base}${path}`, ca, asking)
      const newPerson = (name: string, from: string, headers: Record<string, string> = {}) =>
        signUp(base, ca, name, { from, headers })

      it('speaks HTTP/1.1 with who would speak HTTP/2, too', async () => {
        const { hostname: servername, port } = new URL(base)
        const socket = connect({ servername, port: Number(port), ca, ALPNProtocols: ['h2', 'http/1.1'] })
        await once(socket, 'secureConnect')
        expect(socket.alpnProtocol).to.equal('http/1.1')
        socket.destroy()
      })

      it('has a limit for each of twelve people of twelve addresses', async () => {
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, at) => newPerson(`p${at}`, `127.0.1.${at + 1}`)),
        )
        for (const { status, headers } of answers)
          expect([status, String(headers.ratelimit).split(';')[1]]).to.deep.equal([201, 'r=99'])
      })

      it('believes no address that a client tells', async () => {
        const { headers } = await newPerson('spoof', '127.0.1.1', { 'x-forwarded-for': '203.0.113.9' })
        expect(String(headers.ratelimit).split(';')[1]).to.equal('r=98')
      })

      it('gives addresses that lead back through it', async () => {
        const { body, headers } = await newPerson('ann', '127.0.1.20')
        expect(headers['strict-transport-security']).to.equal('max-age=31536000')
        const bearer = { authorization: `Bearer ${body.accessToken}` }
        expect(headers.location).to.equal(`${prefix}/auth/me`)
        const made = await asked(`/orgs/${body.user.org_id}/nodes`, {
          method: 'POST',
          headers: bearer,
          body: { title: 'Whales' },
        })
        expect(made.headers.location).to.equal(`${prefix}/orgs/${body.user.org_id}/nodes/${made.body.id}`)
        expect(made.body.clone_url).to.equal(`${base}/git/${body.user.org_id}/${made.body.id}/whales.git`)
        await asked(`/orgs/${body.user.org_id}/nodes`, { method: 'POST', headers: bearer, body: { title: 'More' } })
        const page = await asked(`/orgs/${body.user.org_id}/nodes?limit=1`, { headers: bearer })
        const next = /^<(.*)>; rel="next"$/.exec(String(page.headers.link))?.[1] ?? ''
        expect((await ask(new URL(next, base).href, ca, { headers: bearer })).status).to.equal(200)
      })

      it('passes each event on as it happens', async () => {
        const { body } = await newPerson('dee', '127.0.1.30')
        const org: string = body.user.org_id
        const follower = await follow(`${base}/orgs/${org}/events`, body.accessToken, { 'accept-encoding': 'gzip' }, ca)
        const file = join(dataDir, 'events.sqlite')
        const events = await openDatabase<LogSchema>(file, logMigrations, { synchronous: 'NORMAL' })
        expect(follower.status).to.equal(200)
        for (let at = 0; at < 3; at++) {
          const [id = ''] = await append(events, org, [anEvent(org)], new Date())
          await until(() => follower.ids().includes(id))
        }
        // A sign of life also passes.
        await until(() => follower.blocks.some(({ comment }) => comment !== undefined))
        expect(follower.headers).to.not.have.property('content-encoding')
        follower.close()
        await events.close()
      })

      it('shows the first page, with all that it loads and leads to', async () => {
        const page = await asked('/', { headers: { accept: 'text/html' } })
        expect(page.status).to.equal(200)
        const paths = linksOf(page.text)
        expect(paths).to.include.members([`${new URL(base).pathname}/sign-in`.replace('//', '/')])
        expect(paths.filter((path) => path.includes('/assets/'))).to.have.length.above(2)
        for (const path of paths) {
          const { status } = await ask(new URL(path, `${base}/`).href, ca, { headers: { accept: 'text/html' } })
          expect(status, path).to.equal(200)
        }
      })

      it('shows the documentation, with all that it loads', async () => {
        const at = new URL(`${base}/docs`)
        const page = await ask(at.href, ca)
        expect(page.status).to.equal(200)
        const loaded = linksOf(page.text)
        expect(loaded).to.have.length(4)
        for (const path of loaded) expect((await ask(new URL(path, at).href, ca)).status, path).to.equal(200)
        const script = await ask(new URL('docs/start.js', at).href, ca)
        const url = /url: '([^']+)'/.exec(script.text)?.[1] ?? ''
        const spec = JSON.parse((await ask(new URL(url, at).href, ca)).text)
        expect(spec.servers[0].url).to.equal(base)
      })

      const size = prefix === '' ? 34_000_000 : 1_000
      it(`takes a push of ${prefix === '' ? '100 MB' : '3 kB'}, and clones it`, async () => {
        const { body } = await asked('/auth/login', {
          method: 'POST',
          body: { email: 'ann@example.org', password },
        })
        const bearer = { authorization: `Bearer ${body.accessToken}` }
        const made = await asked(`/orgs/${body.user.org_id}/nodes`, {
          method: 'POST',
          headers: bearer,
          body: { title: 'Large', initialize: false },
        })
        await desk.done(
          `git config --global http.sslCAInfo ${certificate.certificate}
           git config --global http.extraHeader "Authorization: Bearer $TOKEN"
           git config --global core.compression 0; git config --global core.bigFileThreshold 1m
           git init -q large; cd large
           for n in 1 2 3; do head -c ${size} /dev/urandom > $n.bin; done
           git add .; git commit -q -m Large; git push -q $URL main
           cd ..; git clone -q --bare $URL copy
           test "$(git -C large rev-parse main)" = "$(git -C copy rev-parse main)"`,
          { URL: made.body.clone_url, TOKEN: body.accessToken },
        )
      })
    })
  }
}

/** The URLs that a page loads and leads to, without places within it. */
function linksOf(html: string): string[] {
  const paths = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = '']) => path)
  return [...new Set(paths)]
}
