/** The last moment a JavaScript Date can name. A wait that would end later is cut off here, 270,000 years from now. */
export const END_OF_TIME = 8.64e15;
