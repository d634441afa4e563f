// The build puts the license texts of the bundled packages here.

declare const __NOTICES__: string;
export const NOTICES: string = __NOTICES__;
