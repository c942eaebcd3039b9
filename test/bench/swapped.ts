/** Preloaded into a service to replace a module. `GROVE_BENCH_SWAP` says which: `{"end of its URL": URL}`. */

import { register } from 'node:module'

const hooks = `
  const swaps = Object.entries(JSON.parse(process.env.GROVE_BENCH_SWAP))
  export async function resolve(specifier, context, next) {
    const found = await next(specifier, context)
    const [, url] = swaps.find(([end, url]) => found.url.endsWith(end) && context.parentURL !== url) ?? []
    return url === undefined ? found : { ...found, url }
  }
`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
