/** What nodes are called: by their front matter, else by the heading that begins the text, else by their file or folder. */
import { posix } from 'node:path'
import { asLine, asTitle } from '../format/line.ts'
import { withoutEnding } from '../format/note-names.ts'
import { isIndex, type Place } from '../format/tree.ts'
import type { Document } from '../read/document.ts'

/** @param folder the name of the whole */
export function titlesIn(folder: string, documents: ReadonlyMap<string, Document>): (place: Place) => string {
  return (place) => {
    const own = place.file === undefined ? '' : documents.get(place.file)?.title
    if (own) return own
    if (place.folder === '.') return spelled(folder)
    if (place.folder !== undefined && (place.file === undefined || isIndex(place.file)))
      return spelled(posix.basename(place.folder))
    return asTitle(posix.basename(withoutEnding(place.file ?? '')))
  }
}

/** A folder's name as it is. */
function spelled(name: string): string {
  return asLine(name, 500) || 'Untitled'
}
