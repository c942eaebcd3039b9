/** The search index's functions, each carried through its steps at once. */
import {
  removeNode as removeNodeInSteps,
  retrieve as retrieveInSteps,
  type SearchDocument,
  type SearchIndex,
  type SearchQuestion,
  setDocument as setDocumentInSteps,
} from '../../index/search/retrieve.ts'
import { finish } from '../../index/search/steps.ts'

export const retrieve = (index: SearchIndex, question: SearchQuestion) => finish(retrieveInSteps(index, question))
export const setDocument = (index: SearchIndex, document: SearchDocument) => finish(setDocumentInSteps(index, document))
export const removeNode = (index: SearchIndex, id: string) => finish(removeNodeInSteps(index, id))
