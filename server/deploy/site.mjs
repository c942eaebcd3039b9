#!/usr/bin/env node
// Keeps the pages of an organisation as Markdown files, and runs a site generator when they change. A webhook is only the
// bell: the files follow the log of events from a stored cursor, so that nothing is missed while this is down. It is an
// example: README.md next to it says how to run it. Needs Node 20.
import { execFileSync } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { GROVE, GROVE_ORG, GROVE_TOKEN, WEBHOOK_SECRET, SITE_DIR = 'site', SITE_COMMAND, PORT = '8080' } = process.env
if (!GROVE || !GROVE_ORG || !GROVE_TOKEN || !WEBHOOK_SECRET)
  throw new Error('Set GROVE, GROVE_ORG, GROVE_TOKEN and WEBHOOK_SECRET')
const get = async (path) => {
  const headers = { authorization: `Bearer ${GROVE_TOKEN}` }
  const answer = await fetch(`${GROVE}/orgs/${GROVE_ORG}${path}`, { headers, signal: AbortSignal.timeout(30_000) })
  if (answer.ok || answer.status === 404 || answer.status === 410)
    return { status: answer.status, body: await answer.json() }
  throw new Error(`GET ${path}: ${answer.status}`)
}
const write = (name, text) => {
  writeFileSync(`${SITE_DIR}/${name}.new`, text)
  renameSync(`${SITE_DIR}/${name}.new`, `${SITE_DIR}/${name}`)
}
const update = async (id) => {
  const { status, body } = await get(`/nodes/${id}`)
  if (status === 200) write(`${id}.md`, `---\ntitle: ${JSON.stringify(body.title)}\n---\n\n${body.text_content}`)
  else rmSync(`${SITE_DIR}/${id}.md`, { force: true })
}
const readCursor = () => {
  try {
    return readFileSync(`${SITE_DIR}/.cursor`, 'utf8')
  } catch {
    return undefined
  }
}
// Lists every page, and those that have a file, because a page may have been deleted.
const listPages = async () => {
  const ids = new Set(readdirSync(SITE_DIR).flatMap((name) => /^([0-9a-f-]{36})\.md$/.exec(name)?.[1] ?? []))
  for (let offset = 0, total = 1; offset < total; offset += 200) {
    const { body } = await get(`/nodes?limit=200&offset=${offset}`)
    // A page that is deleted moves the others up: begin again.
    if (offset > 0 && body.total < total) return listPages()
    for (const { id } of body.nodes) ids.add(id)
    total = body.total
  }
  return ids
}
const follow = async (cursor = readCursor()) => {
  let page = cursor && (await get(`/events?types=node.*&limit=200&after=${cursor}`))
  const isLost = !page || page.status === 410
  if (isLost) page = await get('/events?after=now')
  const ids = isLost
    ? await listPages()
    : new Set(page.body.events.map(({ subject }) => subject.slice('nodes/'.length)))
  for (const id of ids) await update(id)
  if (ids.size > 0 && SITE_COMMAND) execFileSync('sh', ['-c', SITE_COMMAND], { stdio: 'inherit', timeout: 600_000 })
  write('.cursor', page.body.next)
  if (page.body.has_more) await follow(page.body.next)
}
const isSigned = ({ headers }, body) => {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = headers
  const key = Buffer.from(WEBHOOK_SECRET.slice('whsec_'.length), 'base64')
  const own = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`)
  const isOwn = (one) => one.length === own.length && timingSafeEqual(one, own)
  const sent = signatures.split(' ').map((one) => Buffer.from(one))
  return Math.abs(Date.now() / 1000 - Number(at)) < 300 && sent.some(isOwn)
}
mkdirSync(SITE_DIR, { recursive: true })
let last = follow()
await last
const answer = async (req) => {
  const parts = []
  let size = 0
  for await (const part of req) {
    size += part.length
    if (size < 65_536) parts.push(part)
  }
  if (!isSigned(req, Buffer.concat(parts))) return 401
  last = last.catch(() => {}).then(() => follow())
  await last
  return 204
}
createServer((req, res) => {
  answer(req).then(
    (status) => res.writeHead(status).end(),
    (error) => {
      console.error(error)
      res.writeHead(503).end()
    },
  )
}).listen(Number(PORT), () => console.error(`Listening on port ${PORT}`))
