/** The built files that pages load, with a content hash in their names. The first request for a page reads them. */

import { readdirSync, readFileSync } from 'node:fs'
import type { Request, Response } from 'express'

/** Next to the bundle. When the sources run directly, the output of the last build. */
const folder = new URL(import.meta.url.endsWith('.ts') ? '../../dist/assets/' : './assets/', import.meta.url)

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  webp: 'image/webp',
  woff2: 'font/woff2',
}

interface Assets {
  /** Hashed names by plain names. */
  readonly names: Readonly<Record<string, string>>
  readonly files: ReadonlyMap<string, Buffer>
}

let read: Assets | undefined

/** Reads the files once. @throws Error if the project was not built */
function assets(): Assets {
  read ??= {
    names: JSON.parse(readFileSync(new URL('assets.json', folder), 'utf8')),
    files: new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder))])),
  }
  return read
}

/** Returns the file name with its hash. */
export function assetName(name: string): string {
  const file = assets().names[name]
  if (file === undefined) throw new Error(`There is no asset ${name}`)
  return file
}

/** Returns a string that changes when any file that a page loads changes. */
export function assetsVersion(): string {
  return Object.values(assets().names).join(' ')
}

/** Sends an asset. Returns false if there is no such file. */
export function sendAsset(req: Request, res: Response, name: string): boolean {
  const { files } = assets()
  const type = types[/\.(\w+)$/.exec(name)?.[1] ?? '']
  const plain = files.get(name)
  if (type === undefined || plain === undefined) return false
  // The hash is in the name, so the file never changes.
  res.set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Type': type })
  res.set('Cross-Origin-Resource-Policy', 'same-origin')
  // The origin of the frame that draws diagrams is opaque, and asks for its scripts as another site.
  if (name.startsWith('diagram-')) res.set('Access-Control-Allow-Origin', '*')
  res.vary('Accept-Encoding')
  for (const [encoding, suffix] of [
    ['br', 'br'],
    ['gzip', 'gz'],
  ] as const) {
    const bytes = files.get(`${name}.${suffix}`)
    if (bytes === undefined || !req.acceptsEncodings(encoding)) continue
    res.set({ 'Content-Encoding': encoding, 'Content-Length': String(bytes.length) })
    res.end(req.method === 'HEAD' ? undefined : bytes)
    return true
  }
  res.set('Content-Length', String(plain.length))
  res.end(req.method === 'HEAD' ? undefined : plain)
  return true
}
