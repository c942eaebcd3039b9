/** Paths of the pages that scripts link to, below the organisation of the page. */

import { segmentOf } from '../../base/page-segments.ts'

const { root = '', org = '', name } = document.body.dataset

/** Returns the path of the organisation's page, or of a node's. */
export function pathOf(node?: string, title?: string): string {
  const place = `${root}/o/${encodeURIComponent(segmentOf(org, name))}`
  return node === undefined ? place : `${place}/${encodeURIComponent(segmentOf(node, title))}`
}
